// @ts-check
// A card that is swept aside answers: to the right its button "yes", to the left "no". The buttons are always there.

import { around } from "./dom.js";

// How far a finger moves the card until it answers, and from where a movement is a sweep and no tap.
const ANSWER_MIN_PIXELS = 90;
const SWEEP_MIN_PIXELS = 12;

/** @type {{ card: HTMLElement, x: number, id: number } | null} */
let sweep = null;

/** @param {number} by */
function move(by) {
  if (!sweep) return;
  sweep.card.style.translate = by ? `${by}px 0` : "";
  sweep.card.dataset.answer = Math.abs(by) < ANSWER_MIN_PIXELS ? "" : by > 0 ? "yes" : "no";
}

document.addEventListener("pointerdown", (event) => {
  const card = around(event, "[data-swipe]");
  if (!card || event.pointerType === "mouse" || around(event, "button, a")) return;
  sweep = { card, x: event.clientX, id: event.pointerId };
});

document.addEventListener("pointermove", (event) => {
  if (!sweep || event.pointerId !== sweep.id) return;
  const by = event.clientX - sweep.x;
  if (Math.abs(by) >= SWEEP_MIN_PIXELS || sweep.card.style.translate) move(by);
});

document.addEventListener("pointerup", (event) => {
  if (!sweep || event.pointerId !== sweep.id) return;
  const { card } = sweep;
  const button = card.dataset.answer && card.querySelector(`button[value="${card.dataset.answer}"]`);
  move(0);
  sweep = null;
  if (button instanceof HTMLElement) button.click();
});

document.addEventListener("pointercancel", () => {
  move(0);
  sweep = null;
});
