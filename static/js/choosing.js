// The page of all conversations: a check box that selects all conversations of the page.

import { find } from "./dom.js";

const form = document.querySelector("[data-choosing]");
if (form) {
  const all = find(form, "[data-all]", HTMLElement);
  const box = find(all, "input", HTMLInputElement);
  /** @returns {HTMLInputElement[]} */
  const boxes = () => [...form.querySelectorAll("input[name=id]")].filter((each) => each instanceof HTMLInputElement);
  all.hidden = false;
  all.addEventListener("change", () => {
    for (const each of boxes()) each.checked = box.checked;
  });
  form.addEventListener("change", () => {
    const chosen = boxes().filter((each) => each.checked).length;
    box.checked = chosen > 0 && chosen === boxes().length;
    box.indeterminate = chosen > 0 && !box.checked;
  });
}
