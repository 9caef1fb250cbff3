// The search dialog with commands on every page (Ctrl K, ⌘ K), and the list of shortcuts (“?”, Ctrl /).

import { around, find, isComposing } from "./dom.js";

const palette = find(document, "#palette", HTMLDialogElement);
const form = find(palette, "form", HTMLFormElement);
const input = find(palette, "#palette-q", HTMLInputElement);
const commands = find(palette, "[data-commands]", HTMLElement);
const found = find(palette, "#palette-found", HTMLElement);
const status = find(palette, "[data-palette-status]", HTMLElement);
const shortcuts = find(document, "#shortcuts", HTMLDialogElement);
// Milliseconds after the last key until the search starts (debounce).
const PAUSE_MS = 150;

document.addEventListener("keydown", pressed);
document.addEventListener("click", (event) => {
  const opener = around(event, "[data-open-palette], [data-shortcuts]");
  if (!opener) return;
  event.preventDefault();
  if ("shortcuts" in opener.dataset) showShortcuts();
  else open();
});
input.addEventListener("input", () => {
  chooseCommands();
  search(PAUSE_MS);
});
palette.addEventListener("keydown", walk);
// A search field would use the first Esc to become empty.
input.addEventListener("keydown", (event) => {
  if (event.key !== "Escape" || isComposing(event)) return;
  event.preventDefault();
  palette.close();
});
for (const dialog of [palette, shortcuts]) {
  dialog.addEventListener("click", (event) => event.target === dialog && dialog.close());
}
palette.addEventListener("click", (event) => around(event, "a") && palette.close());
form.addEventListener("submit", (event) => {
  // What was found, before commands, before the link to the search of memory.
  const shown = links();
  const first = shown.find((link) => link.closest("[data-found]")) ?? shown.find((link) => commands.contains(link)) ?? shown[0];
  if (!first) return;
  event.preventDefault();
  first.click();
});
if (/Mac|iP(hone|ad)/.test(navigator.platform)) sayCommand();

function open() {
  if (document.querySelector("dialog[open]")) return;
  palette.showModal();
  input.select();
  chooseCommands();
  search(0);
}

function showShortcuts() {
  palette.close();
  if (!document.querySelector("dialog[open]")) shortcuts.showModal();
}

/** @param {KeyboardEvent} event */
function pressed(event) {
  const command = event.ctrlKey || event.metaKey;
  const key = event.key.toLowerCase();
  if (command && !event.shiftKey && key === "k") {
    if (palette.open) palette.close();
    else open();
  } else if (command && event.shiftKey && key === "o") location.assign("/");
  // Also on keyboards on which "/" needs Shift.
  else if (command && key === "/") showShortcuts();
  else if (key === "?" && !command && !around(event, "input, textarea, select, dialog, [contenteditable]")) showShortcuts();
  else return;
  event.preventDefault();
}

let asked = 0;
/** @type {ReturnType<typeof setTimeout> | undefined} */
let waiting;

// Show the server's results; a response to an earlier query is ignored.
/** @param {number} pause */
function search(pause) {
  const mine = ++asked;
  clearTimeout(waiting);
  waiting = setTimeout(async () => {
    const address = `${form.action}?${new URLSearchParams({ q: input.value })}`;
    const headers = { "HX-Request": "true", "HX-Current-URL": location.href };
    const html = await fetch(address, { headers }).then(shownOf).catch(() => null);
    if (mine !== asked) return;
    const isWalked = found.contains(document.activeElement);
    if (html === null) found.replaceChildren(failure());
    else found.innerHTML = html;
    tellCount();
    if (isWalked) input.focus();
  }, pause);
}

/** @param {Response} answer */
async function shownOf(answer) {
  // The sign-in has ended.
  if (answer.headers.has("HX-Redirect")) location.assign(answer.headers.get("HX-Redirect") ?? "/");
  // After too many searches, the response says so.
  const hasText = answer.ok || answer.status === 429;
  return hasText && !answer.redirected ? answer.text() : null;
}

function failure() {
  const sentence = document.createElement("p");
  sentence.className = "quiet found__none";
  sentence.textContent = status.dataset.notDone ?? "";
  return sentence;
}

// Announce the number of results, instead of all of them after each key.
function tellCount() {
  const none = found.querySelector(".found__none");
  const count = found.querySelectorAll("[data-found] a").length;
  if (none) status.textContent = none.textContent;
  else status.textContent = input.value.trim() && (status.dataset.found ?? "").replace("{count}", String(count));
}

// The arrow keys move from the field through the results and back.
/** @param {KeyboardEvent} event */
function walk(event) {
  if (event.key !== "ArrowDown" && event.key !== "ArrowUp") return;
  const step = event.key === "ArrowDown" ? 1 : -1;
  event.preventDefault();
  const stops = [input, ...links()];
  const at = stops.findIndex((stop) => stop === document.activeElement);
  stops[(at + step + stops.length) % stops.length].focus();
}

function links() {
  return [...palette.querySelectorAll("a")].filter((link) => link.checkVisibility());
}

function chooseCommands() {
  const words = input.value.trim().toLowerCase();
  let shown = 0;
  for (const item of commands.querySelectorAll("li")) {
    item.hidden = !item.textContent?.toLowerCase().includes(words);
    if (!item.hidden) shown += 1;
  }
  commands.hidden = shown === 0;
}

// A Mac has another key for it.
function sayCommand() {
  const { ctrl = "" } = shortcuts.dataset;
  for (const key of document.querySelectorAll("dialog kbd")) key.textContent = key.textContent?.replace(ctrl, "⌘") ?? "";
  /** @type {NodeListOf<HTMLElement>} */
  const named = document.querySelectorAll("[data-key]");
  for (const each of named) each.dataset.key = each.dataset.key?.replace(ctrl, "⌘");
}
