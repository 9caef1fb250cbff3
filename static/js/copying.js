// Buttons that copy values which are shown only once: each copies the field next to it, and one may copy all of them.

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
    offer(button, () => field.value);
  }
  const all = document.querySelector("[data-copy-all]");
  // A line for each, with whom it is for: as a table, it can be pasted into a spreadsheet.
  const lines = () => fields.map((field) => [field.dataset.copyOf ?? "", field.value].join("\t").trim());
  if (all instanceof HTMLButtonElement) offer(all, () => lines().join("\n"));

  /**
   * Show `button`, which copies what `text` returns.
   * @param {HTMLButtonElement} button
   * @param {() => string} text
   */
  function offer(button, text) {
    button.hidden = false;
    button.addEventListener("click", async () => {
      const isCopied = await copy(text());
      notice.replaceChildren();
      announcer.say((isCopied ? button.dataset.copied : button.dataset.notCopied) ?? "");
    });
  }
}
