// Buttons that copy values which are shown only once: each copies the field next to it.

import { Announcer } from "./announcer.js";
import { copy } from "./clipboard.js";
import { find } from "./dom.js";

const fields = [...document.querySelectorAll("[data-copy-from]")].filter((each) => each instanceof HTMLInputElement);
if (fields.length > 0) {
  const notice = find(document, "[data-copy-notice]", HTMLElement);
  const announcer = new Announcer(notice);
  fields[0].focus();
  fields[0].select();
  for (const field of fields) {
    const button = find(field.parentElement ?? document, "[data-copy]", HTMLButtonElement);
    button.hidden = false;
    button.addEventListener("click", async () => {
      const isCopied = await copy(field.value);
      notice.replaceChildren();
      announcer.say((isCopied ? button.dataset.copied : button.dataset.notCopied) ?? "");
    });
  }
}
