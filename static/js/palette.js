// Search and commands by the keyboard: Ctrl K (⌘ K), and the list of shortcuts by “?”.

const palette = document.getElementById("palette");
const input = document.getElementById("palette-q");
const commands = palette.querySelector("[data-commands]");
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

function chooseCommands() {
  const asked = input.value.trim().toLowerCase();
  let shown = 0;
  for (const item of commands.querySelectorAll("li")) {
    item.hidden = !item.textContent.toLowerCase().includes(asked);
    shown += !item.hidden;
  }
  commands.hidden = shown === 0;
}
