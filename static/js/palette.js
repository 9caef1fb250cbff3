// Search and commands by the keyboard: Ctrl K (⌘ K), and the list of shortcuts by “?”.

import { words } from "./words.js";

const palette = document.getElementById("palette");
const input = document.getElementById("palette-q");
const commands = palette.querySelector("[data-commands]");
const found = document.getElementById("palette-found");
const told = palette.querySelector("[data-palette-told]");
const shortcuts = document.getElementById("shortcuts");

export function watchPalette() {
  document.addEventListener("keydown", pressed);
  for (const opener of document.querySelectorAll("[data-open-palette]")) {
    opener.addEventListener("click", (event) => {
      event.preventDefault();
      open();
    });
  }
  input.addEventListener("input", chooseCommands);
  palette.addEventListener("keydown", walk);
  found.addEventListener("htmx:afterSwap", tellCount);
  for (const failure of ["htmx:responseError", "htmx:sendError"]) input.addEventListener(failure, tellFailure);
  for (const dialog of [palette, shortcuts]) {
    dialog.addEventListener("click", (event) => event.target === dialog && dialog.close());
  }
  palette.addEventListener("click", (event) => {
    const link = event.target.closest("a");
    if (link && "shortcuts" in link.dataset) {
      event.preventDefault();
      palette.close();
      shortcuts.showModal();
    } else if (link) palette.close();
  });
  palette.querySelector("form").addEventListener("submit", (event) => {
    const first = links()[0];
    if (!first) return;
    event.preventDefault();
    first.click();
  });
}

function open() {
  if (document.querySelector("dialog[open]")) return;
  palette.showModal();
  input.select();
  chooseCommands();
  input.dispatchEvent(new Event("opened"));
}

function pressed(event) {
  const command = event.ctrlKey || event.metaKey;
  if (command && !event.shiftKey && event.key.toLowerCase() === "k") {
    event.preventDefault();
    if (palette.open) palette.close();
    else open();
  } else if (command && event.shiftKey && event.key.toLowerCase() === "o") {
    event.preventDefault();
    location.assign("/");
  } else if (event.key === "?" && !command && !event.target.closest("input, textarea, select, dialog")) {
    event.preventDefault();
    shortcuts.showModal();
  }
}

// Arrows lead from the field through what was found and back.
function walk(event) {
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (!step) return;
  event.preventDefault();
  const stops = [input, ...links()];
  const at = stops.indexOf(document.activeElement);
  stops[(at + step + stops.length) % stops.length].focus();
}

function links() {
  return [...palette.querySelectorAll("a")].filter((link) => link.checkVisibility());
}

// How many there are, instead of all of them at each letter.
function tellCount() {
  const none = found.querySelector(".found__none");
  const count = found.querySelectorAll("[data-found] a").length;
  if (none) told.textContent = none.textContent;
  else told.textContent = input.value.trim() && words.found.replace("{count}", count);
}

function tellFailure() {
  const sentence = document.createElement("p");
  sentence.className = "quiet found__none";
  sentence.textContent = words.notDone;
  found.replaceChildren(sentence);
  tellCount();
}

function chooseCommands() {
  const asked = input.value.trim().toLowerCase();
  let shown = 0;
  for (const item of commands.querySelectorAll("li")) {
    item.hidden = !item.textContent.toLowerCase().includes(asked);
    shown += !item.hidden;
  }
  commands.hidden = shown === 0;
}
