// Writes the time of each message, in the person's timezone and language: today's as an hour, others with their date. The
// style sheet shows it while the message is hovered or focused; it is an attribute, so that it is no part of the text.

import { find } from "./dom.js";

const main = find(document, "#main", HTMLElement);
const locale = document.documentElement.lang;
const timeZone = main.dataset.timezone;
/** The clock of 24 hours, as on all pages. @type {{ hourCycle: "h23", timeZone: string | undefined }} */
const clock = { hourCycle: "h23", timeZone };
const hour = new Intl.DateTimeFormat(locale, { timeStyle: "short", ...clock });
const short = new Intl.DateTimeFormat(locale, { dateStyle: "medium", timeStyle: "short", ...clock });
const full = new Intl.DateTimeFormat(locale, { dateStyle: "full", timeStyle: "medium", ...clock });
const day = new Intl.DateTimeFormat(locale, { dateStyle: "short", timeZone });

/** @param {ParentNode} root */
function write(root) {
  /** @type {NodeListOf<HTMLTimeElement>} */
  const times = root.querySelectorAll(".message__time:not([data-time])");
  for (const time of times) {
    const at = new Date(time.dateTime);
    time.dataset.time = (day.format(at) === day.format(new Date()) ? hour : short).format(at);
    time.title = full.format(at);
  }
}

new MutationObserver(() => write(main)).observe(find(main, "[data-messages]", HTMLElement), { childList: true, subtree: true });
write(main);
