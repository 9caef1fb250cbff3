// The message field: Enter sends, Shift+Enter starts a new line, Esc stops the answer. On a touch screen, whose keyboard
// has no Shift+Enter, Enter starts a new line, and the button sends.

/** @import { Attachments } from "./attachments.js" */
/** @import { AttachedFile } from "./frames.js" */
/** @import { Range } from "./pasted.js" */

import { find, isComposing } from "./dom.js";
import { Pasted } from "./pasted.js";
import { words } from "./words.js";

// The number of characters is shown from this share of the maximum on.
const COUNT_MIN_SHARE = 0.8;
const KEEP_DRAFT_AFTER_MS = 250;
const touch = matchMedia("(pointer: coarse) and (hover: none)");

export class Composer {
  #text;
  #send;
  #stop;
  #count;
  #notices;
  #longest;
  #attachments;
  #pasted;
  #on;
  #isRunning = false;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #keeping;

  /**
   * @param {HTMLFormElement} form
   * @param {object} options
   * @param {number} options.longest
   * @param {Attachments} options.attachments
   * @param {(text: string, files: AttachedFile[], pasted: Range[]) => void} options.onSend
   * @param {() => void} options.onStop
   * @param {(text: string, files: AttachedFile[], pasted: Range[]) => void} options.onDraft
   * @param {(sentence: string) => void} options.onArrived
   */
  constructor(form, { longest, attachments, onSend, onStop, onDraft, onArrived }) {
    this.#text = find(form, "[name=text]", HTMLTextAreaElement);
    this.#send = find(form, "[data-send]", HTMLButtonElement);
    this.#stop = find(form, "[data-stop]", HTMLButtonElement);
    this.#count = find(form, "[data-count]", HTMLElement);
    this.#notices = find(form, "[data-notices]", HTMLElement);
    this.#pasted = new Pasted(this.#text);
    this.#longest = longest;
    this.#attachments = attachments;
    attachments.listen({
      changed: () => {
        if (!attachments.isBusy) this.hush("uploading");
        this.#changed();
      },
      refused: (sentence) => this.tell(sentence, { kind: "file", bad: true }),
      arrived: onArrived,
      explained: (sentence) => this.tell(sentence, { kind: "paste" }),
    });
    if (touch.matches) this.#text.enterKeyHint = "enter";
    // No validation message of the browser for an empty message.
    form.noValidate = true;
    this.#on = { send: onSend, stop: onStop, draft: onDraft };
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.#submit();
    });
    this.#text.addEventListener("keydown", (event) => this.#pressed(event));
    this.#text.addEventListener("input", () => this.#changed());
    this.#stop.addEventListener("click", () => this.#stopNow());
    document.addEventListener("keydown", (event) => {
      const isHandled = event.defaultPrevented || isComposing(event) || document.querySelector("dialog[open], :popover-open");
      if (event.key === "Escape" && this.#isRunning && !isHandled) this.#stopNow();
    });
    addEventListener("pagehide", () => this.#keep());
    this.#changed();
  }

  get value() {
    return this.#text.value;
  }

  set value(text) {
    this.put(text);
  }

  /** What of the text was pasted, in code points. */
  get pasted() {
    return this.#pasted.ranges;
  }

  /**
   * Set the text, of which `pasted` was pasted; without that, what is new in it counts as typed.
   * @param {string} text
   * @param {Range[]} [pasted]
   */
  put(text, pasted) {
    this.#pasted.put(text, pasted);
    this.#changed();
  }

  /**
   * Add a text that comes back to the field, of which `pasted` was pasted: before what is in it, or after it.
   * @param {string} text
   * @param {Range[]} pasted
   * @param {{ isBefore?: boolean }} options
   */
  add(text, pasted, { isBefore = false } = {}) {
    const parts = [
      { text, pasted },
      { text: this.value, pasted: this.pasted },
    ];
    const ordered = (isBefore ? parts : parts.reverse()).filter((part) => part.text);
    let at = 0;
    const ranges = ordered.flatMap((part) => {
      const start = at;
      at += [...part.text].length + 2;
      return part.pasted.map(([from, to]) => /** @type {Range} */ ([from + start, to + start]));
    });
    this.put(ordered.map((part) => part.text).join("\n\n"), ranges);
  }

  focus() {
    this.#text.focus();
  }

  /** @param {boolean} running */
  setRunning(running) {
    this.#isRunning = running;
    this.#stop.hidden = !running;
    this.#showSend();
    if (!running) this.hush("running");
  }

  /**
   * Show a notice above the field; it replaces one of the same kind.
   * @param {string} sentence
   * @param {{ kind?: string, bad?: boolean, link?: string }} options
   */
  tell(sentence, { kind = "error", bad = false, link = "" } = {}) {
    this.hush(kind);
    const line = document.createElement("p");
    line.className = bad ? "notice notice--bad" : "notice";
    line.dataset.kind = kind;
    const said = link ? Object.assign(document.createElement("a"), { href: link }) : line;
    said.textContent = sentence;
    if (link) line.append(said);
    this.#notices.append(line);
  }

  /** @param {string} kind */
  hush(kind) {
    this.#notices.querySelector(`[data-kind="${kind}"]`)?.remove();
  }

  /** @param {KeyboardEvent} event */
  #pressed(event) {
    if (event.key !== "Enter" || event.shiftKey || isComposing(event)) return;
    if (touch.matches && !event.ctrlKey && !event.metaKey) return;
    event.preventDefault();
    this.#submit();
  }

  #submit() {
    const text = this.value;
    if (this.#attachments.isBusy) {
      this.tell(words.uploading, { kind: "uploading" });
      return;
    }
    if (this.#isEmpty || this.#length() > this.#longest) return;
    this.#notices.replaceChildren();
    const files = this.#attachments.take();
    const { pasted } = this;
    this.value = "";
    this.#keep();
    this.#on.send(text.trim() ? text : "", files, text.trim() ? pasted : []);
    this.focus();
  }

  #stopNow() {
    this.#on.stop();
    this.focus();
  }

  // As on the server: a message has text, files, or both.
  get #isEmpty() {
    return !this.value.trim() && !this.#attachments.files.length;
  }

  // Unicode code points, as the server counts; a text field's line ends are \n already.
  #length() {
    let length = 0;
    for (const _ of this.value) length += 1;
    return length;
  }

  #changed() {
    if (!CSS.supports("field-sizing", "content")) {
      this.#text.style.height = "auto";
      this.#text.style.height = `${this.#text.scrollHeight}px`;
    }
    // A code point has one or two UTF-16 units, so a short text need not be counted.
    const length = this.value.length > this.#longest * COUNT_MIN_SHARE ? this.#length() : 0;
    const over = length > this.#longest;
    this.#count.hidden = length <= this.#longest * COUNT_MIN_SHARE;
    const numbers = new Intl.NumberFormat(document.documentElement.lang);
    /** @type {Record<string, string>} */
    const shown = { "{length}": numbers.format(length), "{longest}": numbers.format(this.#longest) };
    this.#count.textContent = words.count.replace(/\{\w+\}/g, (name) => shown[name]);
    this.#count.toggleAttribute("data-over", over);
    this.#text.setAttribute("aria-invalid", String(over));
    this.#showSend();
    this.#send.setAttribute("aria-disabled", String(over || this.#isEmpty || this.#attachments.isBusy));
    clearTimeout(this.#keeping);
    this.#keeping = setTimeout(() => this.#keep(), KEEP_DRAFT_AFTER_MS);
  }

  // While an answer is running, the button stops it until something is written, which is then queued.
  #showSend() {
    this.#send.hidden = this.#isRunning && this.#isEmpty;
  }

  #keep() {
    clearTimeout(this.#keeping);
    this.#on.draft(this.value, this.#attachments.files, this.pasted);
  }
}
