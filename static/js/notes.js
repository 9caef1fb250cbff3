// Footnotes: links from a number in the text to its note, and back.

import { around } from "./dom.js";

/** @param {Event} event */
function follow(event) {
  const pressed = around(event, ".note-ref, .note__number");
  if (!pressed || (event instanceof KeyboardEvent && event.key !== "Enter")) return;
  const number = CSS.escape(pressed.dataset.note ?? pressed.parentElement?.dataset.note ?? "");
  const isBack = pressed.matches(".note__number");
  /** @type {HTMLElement | null | undefined} */
  const to = pressed.closest(".prose")?.querySelector(`${isBack ? ".note-ref" : ".note"}[data-note="${number}"]`);
  if (!to) return;
  if (!isBack) to.tabIndex = -1;
  to.focus({ preventScroll: true });
  to.scrollIntoView({ block: "nearest" });
}

document.addEventListener("click", follow);
document.addEventListener("keydown", follow);
