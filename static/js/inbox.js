// @ts-check
// The inbox of memory: J and K go to the next and the previous item, a button's key presses it, and an answer takes its
// item out of the list. It is sent when it can no longer be undone: a declined text is gone for good.

/** How long an answer can be undone. */
const UNDO_MS = 8000;

/** @typedef {{ item: HTMLElement, before: Element | null, form: HTMLFormElement, body: FormData, timer: number }} Answer */
/** @type {Answer | undefined} */
let pending;

import "./swiping.js";

/** @returns {HTMLElement[]} */
const items = () => [...document.querySelectorAll("[data-inbox-item]")].filter((item) => item instanceof HTMLElement);

/** @returns {HTMLElement | undefined} The item that has the focus. */
const current = () => items().find((item) => item.contains(document.activeElement));

const list = document.querySelector("[data-inbox]");
const toast = document.querySelector("[data-inbox-toast]");
const said = document.querySelector("[data-inbox-said]");
const undoButton = document.querySelector("[data-inbox-undo]");

/** @param {number} step */
function go(step) {
  const all = items();
  const here = current();
  const at = here ? all.indexOf(here) + step : 0;
  all[Math.min(Math.max(at, 0), all.length - 1)]?.focus();
}

/** @param {string} text The sentence about the last answer; "" when there is none to undo. */
function say(text) {
  if (said) said.textContent = text;
  if (toast instanceof HTMLElement) toast.hidden = !text;
}

/**
 * Take the item of `form` out of the list. The answer of the pressed `button` is sent later.
 * @param {HTMLFormElement} form
 * @param {HTMLElement} button
 */
function answer(form, button) {
  const item = form.closest("[data-inbox-item]");
  if (!(item instanceof HTMLElement)) return;
  void send();
  const before = item.nextElementSibling;
  const next = before ?? item.previousElementSibling;
  const timer = window.setTimeout(() => void send(), UNDO_MS);
  pending = { item, before, form, body: new FormData(form, button), timer };
  item.remove();
  say(button.dataset.done ?? "");
  if (next instanceof HTMLElement) next.focus();
  else if (undoButton instanceof HTMLElement) undoButton.focus();
}

/** Put the item of `answered` back to where it was. @param {Answer} answered */
function putBack({ item, before }) {
  list?.insertBefore(item, before?.parentElement === list ? before : null);
  item.focus();
}

function undo() {
  if (!pending) return;
  const answered = pending;
  window.clearTimeout(answered.timer);
  pending = undefined;
  say("");
  putBack(answered);
}

/** Send the answer that waits. Of one that is refused the item comes back with the reason. */
async function send() {
  if (!pending) return;
  const answered = pending;
  window.clearTimeout(answered.timer);
  pending = undefined;
  say("");
  try {
    const request = { method: "POST", body: answered.body, keepalive: true };
    const response = await fetch(answered.form.action, request);
    const page = new DOMParser().parseFromString(await response.text(), "text/html");
    const refusal = page.querySelector(".flash--error")?.textContent ?? "";
    // A sign-in that has ended leads to a page without the sidebar.
    if (response.ok && !refusal && page.querySelector("#sidebar")) {
      // The sidebar says how many still wait.
      document.body.dispatchEvent(new Event("sessions-changed"));
      // What came next when the list was full, or the sentence that it is empty.
      if (!list?.querySelector("[data-inbox-item]") && !pending) location.reload();
      return;
    }
    refuse(answered, refusal);
  } catch {
    refuse(answered, "");
  }
}

/**
 * Put the item of an answer that was not taken back, with the reason.
 * @param {Answer} answered
 * @param {string} refusal
 */
function refuse(answered, refusal) {
  const line = document.createElement("p");
  line.className = "field__error";
  line.textContent = refusal || (list instanceof HTMLElement ? (list.dataset.failed ?? "") : "");
  answered.item.querySelector(".field__error")?.remove();
  answered.item.append(line);
  putBack(answered);
}

document.addEventListener("submit", (event) => {
  const { target, submitter } = event;
  if (!(target instanceof HTMLFormElement) || !target.matches("[data-inbox] .decision")) return;
  if (!(submitter instanceof HTMLElement)) return;
  event.preventDefault();
  answer(target, submitter);
});
undoButton?.addEventListener("click", undo);
// What is left unsent goes with the page, which a phone may end as soon as it is hidden.
addEventListener("pagehide", () => void send());
document.addEventListener("visibilitychange", () => document.visibilityState === "hidden" && void send());

document.addEventListener("keydown", (event) => {
  const typing = event.target instanceof Element && event.target.closest("input, textarea, select, [contenteditable]");
  if (typing || event.ctrlKey || event.metaKey || event.altKey) return;
  const key = event.key.toLowerCase();
  const button = current()?.querySelector(`[data-key="${CSS.escape(key)}"]`);
  if (key === "j") go(1);
  else if (key === "k") go(-1);
  else if (key === "u" && pending) undo();
  else if (button instanceof HTMLElement) button.click();
  else return;
  event.preventDefault();
});

// A line of memory links to the item about it.
const linked = location.hash && document.getElementById(location.hash.slice(1));
if (linked instanceof HTMLElement && linked.matches("[data-inbox-item]")) linked.focus();
else items()[0]?.focus({ preventScroll: true });
