// The list of commands and saved prompts that a slash at the beginning of a message opens, and that of skills, which a
// dollar sign opens anywhere. The focus stays in the text field, which names the active entry (aria-activedescendant); a
// textarea must not have another role.

/** @import { Announcer } from "./announcer.js" */
/** @import { Composer } from "./composer.js" */

import { around, find, isComposing } from "./dom.js";
import { matching, mentionAt } from "./mentions.js";
import { words } from "./words.js";

/**
 * A command, or a saved prompt: its text in pieces, every second of which is the name of a variable.
 * @typedef {{ name: string, about: string, kind: "insert", pieces: string[] }} Prompt
 * @typedef {{ name: string, about: string, kind: "mention" }} Mention
 * @typedef {{ name: string, about: string, kind: "send" } | { name: string, about: string, kind: "write" } | Prompt | Mention} Command
 * @typedef {{ commands: Command[], mentions: Mention[] }} Known
 */

// A slash and a part of a name, and nothing else.
const TYPED = /^\/\S*$/;

/**
 * @param {HTMLFormElement} form
 * @param {{ composer: Composer, announcer: Announcer, session: string }} options
 */
export function watchCommands(form, { composer, announcer, session }) {
  const text = find(form, "[name=text]", HTMLTextAreaElement);
  const list = find(form, "[data-commands-list]", HTMLElement);
  const dialog = find(document, "#prompt-asks", HTMLDialogElement);
  const asked = find(dialog, "[data-asked]", HTMLElement);
  // The promise of the server's commands and skills, requested again for each slash and dollar sign.
  /** @type {Promise<Known> | null} */
  let known = null;
  /** @type {Command[]} */
  let shown = [];
  let active = 0;
  // The text at which Esc closed the list: it stays closed until the text changes.
  let dismissed = "";
  /** @type {string[]} */
  let chosen = [];

  text.setAttribute("aria-autocomplete", "list");
  text.setAttribute("aria-controls", list.id);
  text.addEventListener("input", offer);
  // The caret has left the name that was being typed.
  text.addEventListener("click", () => list.hidden || offer());
  text.addEventListener("blur", close);
  // In the capture phase, before the composer handles the key.
  text.addEventListener("keydown", pressed, { capture: true });
  list.addEventListener("mousedown", (event) => event.preventDefault());
  list.addEventListener("click", (event) => {
    const option = around(event, "[role=option]");
    if (option) choose(shown[[...list.children].indexOf(option)]);
  });
  find(dialog, "[data-cancel]", HTMLButtonElement).addEventListener("click", () => dialog.close(""));
  dialog.addEventListener("close", () => {
    if (dialog.returnValue === "insert") insert(filled());
    else text.focus();
  });
  asked.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || event.shiftKey || isComposing(event)) return;
    event.preventDefault();
    dialog.close("insert");
  });

  async function offer() {
    if (!isTyped() || text.value === dismissed) {
      close();
      return;
    }
    dismissed = "";
    if (!known || text.value === "/" || mention()?.typed === "") known = fetched();
    const { commands, mentions } = await known;
    if (!isTyped() || document.activeElement !== text) {
      close();
      return;
    }
    const named = mention();
    // Names that begin with the typed text come first.
    shown = named ? matching(mentions, named.typed) : matching(commands, text.value.slice(1).toLowerCase());
    active = 0;
    show();
  }

  function isTyped() {
    return TYPED.test(text.value) || mention() !== null;
  }

  function mention() {
    return text.selectionStart === text.selectionEnd ? mentionAt(text.value, text.selectionStart) : null;
  }

  /** @returns {Promise<Known>} */
  async function fetched() {
    /** @type {Known} */
    const nothing = { commands: [], mentions: [] };
    try {
      const answer = await fetch(`${list.dataset.from}?current=${session}`);
      if (!answer.ok || answer.redirected) return nothing;
      /** @type {Known} */
      const { commands, mentions } = await answer.json();
      return { commands, mentions: mentions.map((each) => ({ ...each, kind: /** @type {const} */ ("mention") })) };
    } catch {
      return nothing; // no network: a command that is typed in full works all the same
    }
  }

  function show() {
    const wasHidden = list.hidden;
    list.replaceChildren(...shown.map(item));
    list.hidden = shown.length === 0;
    if (list.hidden) text.removeAttribute("aria-activedescendant");
    else activate(active);
    if (wasHidden && !list.hidden) announcer.say(words.commandsFound.replace("{count}", String(shown.length)));
  }

  /**
   * @param {Command} command
   * @param {number} index
   */
  function item(command, index) {
    const option = document.createElement("li");
    option.className = "commands__item";
    option.id = `command-${index}`;
    option.setAttribute("role", "option");
    option.setAttribute("aria-selected", "false");
    for (const part of /** @type {const} */ (["name", "about"])) {
      const span = document.createElement("span");
      span.className = `commands__${part}`;
      span.textContent = command[part];
      option.append(span, " ");
    }
    return option;
  }

  /** @param {number} index */
  function activate(index) {
    active = (index + shown.length) % shown.length;
    [...list.children].forEach((option, at) => option.setAttribute("aria-selected", String(at === active)));
    list.children[active].scrollIntoView({ block: "nearest" });
    text.setAttribute("aria-activedescendant", `command-${active}`);
  }

  function close() {
    list.hidden = true;
    text.removeAttribute("aria-activedescendant");
  }

  /** @param {KeyboardEvent} event */
  function pressed(event) {
    if (list.hidden || isComposing(event) || event.shiftKey) return;
    /** @type {Record<string, () => void>} */
    const keys = {
      ArrowDown: () => activate(active + 1),
      ArrowUp: () => activate(active - 1),
      Enter: () => choose(shown[active]),
      Tab: () => choose(shown[active]),
      Escape() {
        dismissed = text.value;
        close();
      },
    };
    if (!keys[event.key]) return;
    event.preventDefault();
    event.stopImmediatePropagation();
    keys[event.key]();
  }

  /** @param {Command} command */
  function choose(command) {
    close();
    if (command.kind === "send") {
      composer.value = command.name;
      form.requestSubmit();
    } else if (command.kind === "mention") complete(command);
    else if (command.kind === "write") insert(`${command.name} `);
    else ask(command);
  }

  /** @param {Mention} named */
  function complete(named) {
    const { start } = mention() ?? { start: text.selectionStart };
    const before = `${text.value.slice(0, start)}${named.name} `;
    composer.value = before + text.value.slice(text.selectionEnd).replace(/^ /, "");
    text.focus();
    text.setSelectionRange(before.length, before.length);
  }

  /** @param {Prompt} command */
  function ask(command) {
    const names = new Set(command.pieces.filter((_, index) => index % 2));
    chosen = command.pieces;
    if (!names.size) {
      insert(filled());
      return;
    }
    find(dialog, "h1", HTMLElement).textContent = command.name;
    asked.replaceChildren(...[...names].map(field));
    dialog.returnValue = "";
    dialog.showModal();
  }

  /**
   * @param {string} name
   * @param {number} index
   */
  function field(name, index) {
    const box = document.createElement("div");
    box.className = "field";
    const label = Object.assign(document.createElement("label"), { htmlFor: `asked-${index}`, textContent: name });
    const value = Object.assign(document.createElement("textarea"), { id: `asked-${index}`, rows: 1, className: "input" });
    value.dataset.name = name;
    box.append(label, value);
    return box;
  }

  function filled() {
    const values = new Map([...asked.querySelectorAll("textarea")].map((value) => [value.dataset.name, value.value]));
    return chosen.map((piece, index) => (index % 2 ? (values.get(piece) ?? "") : piece)).join("");
  }

  /** @param {string} written */
  function insert(written) {
    composer.value = written;
    text.focus();
    text.setSelectionRange(written.length, written.length);
  }
}
