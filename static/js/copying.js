// Something that is shown once: a button copies it.

import { Announcer } from "./announcer.js";
import { copy } from "./clipboard.js";
import { find } from "./dom.js";

const field = document.querySelector("[data-copy-from]");
if (field instanceof HTMLInputElement) {
  const button = find(document, "[data-copy]", HTMLButtonElement);
  const told = find(document, "[data-copy-told]", HTMLElement);
  const announcer = new Announcer(told);
  field.focus();
  field.select();
  button.hidden = false;
  button.addEventListener("click", async () => {
    const isCopied = await copy(field.value);
    told.replaceChildren();
    announcer.say((isCopied ? button.dataset.copied : button.dataset.notCopied) ?? "");
  });
}
