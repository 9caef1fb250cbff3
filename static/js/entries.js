// @ts-check
// Closes the form of an entry of memory that is edited in its place: Esc is Cancel.

import { isComposing } from "./dom.js";

document.addEventListener("keydown", (event) => {
  if (event.key !== "Escape" || isComposing(event) || !(event.target instanceof Element)) return;
  const cancel = event.target.closest(".entry__form")?.querySelector("[data-cancel]");
  if (!(cancel instanceof HTMLElement)) return;
  event.preventDefault();
  cancel.click();
});
