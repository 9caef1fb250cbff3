// Something that is shown once: a button copies it.

import { Announcer } from "./announcer.js";
import { copy } from "./clipboard.js";

const field = document.querySelector("[data-copy-from]");
const button = document.querySelector("[data-copy]");
const told = document.querySelector("[data-copy-told]");
if (field) {
  const announcer = new Announcer(told);
  field.focus();
  field.select();
  button.hidden = false;
  button.addEventListener("click", async () => {
    const isCopied = await copy(field.value);
    told.replaceChildren();
    announcer.say(isCopied ? button.dataset.copied : button.dataset.notCopied);
  });
}
