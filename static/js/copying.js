// A button that copies a value that is shown only once.

import { Announcer } from "./announcer.js";
import { copy } from "./clipboard.js";
import { find } from "./dom.js";

const field = document.querySelector("[data-copy-from]");
if (field instanceof HTMLInputElement) {
  const button = find(document, "[data-copy]", HTMLButtonElement);
  const notice = find(document, "[data-copy-notice]", HTMLElement);
  const announcer = new Announcer(notice);
  field.focus();
  field.select();
  button.hidden = false;
  button.addEventListener("click", async () => {
    const isCopied = await copy(field.value);
    notice.replaceChildren();
    announcer.say((isCopied ? button.dataset.copied : button.dataset.notCopied) ?? "");
  });
}
