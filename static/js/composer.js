// Where one writes: Enter sends, Shift+Enter breaks the line, Esc stops the answer.

/** @import { Attachments } from "./attachments.js" */
/** @import { AttachedFile } from "./frames.js" */

import { find } from "./dom.js";
import { words } from "./words.js";

// The count of characters shows from this part of the longest length on.
const SHOW_COUNT_FROM = 0.8;
const KEEP_DRAFT_AFTER = 250;

export class Composer {
  #text;
  #send;
  #stop;
  #count;
  #told;
  #longest;
  #attachments;
  #on;
  #isRunning = false;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #keeping;

  /**
   * @param {HTMLFormElement} form
   * @param {object} options
   * @param {number} options.longest
   * @param {Attachments} options.attachments
   * @param {(text: string, files: AttachedFile[]) => void} options.onSend
   * @param {() => void} options.onStop
   * @param {(text: string, files: AttachedFile[]) => void} options.onDraft
   * @param {(sentence: string) => void} options.onArrived
   */
  constructor(form, { longest, attachments, onSend, onStop, onDraft, onArrived }) {
    this.#text = find(form, "[name=text]", HTMLTextAreaElement);
    this.#send = find(form, "[data-send]", HTMLButtonElement);
    this.#stop = find(form, "[data-stop]", HTMLButtonElement);
    this.#count = find(form, "[data-count]", HTMLElement);
    this.#told = find(form, "[data-told]", HTMLElement);
    this.#longest = longest;
    this.#attachments = attachments;
    attachments.listen({
      changed: () => {
        if (!attachments.isBusy) this.hush("uploading");
        this.#changed();
      },
      refused: (sentence) => this.tell(sentence, { kind: "file", bad: true }),
      arrived: onArrived,
    });
    // An empty message needs no complaint of the browser's.
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
      const elsewhere = event.defaultPrevented || event.isComposing || document.querySelector("dialog[open], :popover-open");
      if (event.key === "Escape" && this.#isRunning && !elsewhere) this.#stopNow();
    });
    addEventListener("pagehide", () => this.#keep());
    this.#changed();
  }

  get value() {
    return this.#text.value;
  }

  set value(text) {
    this.#text.value = text;
    this.#changed();
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
   * Show one sentence above the text; another of the same kind takes its place.
   * @param {string} sentence
   * @param {{ kind?: string, bad?: boolean, link?: string }} options
   */
  tell(sentence, { kind = "error", bad = false, link = "" } = {}) {
    this.hush(kind);
    const line = document.createElement("p");
    line.className = bad ? "told told--bad" : "told";
    line.dataset.kind = kind;
    const said = link ? Object.assign(document.createElement("a"), { href: link }) : line;
    said.textContent = sentence;
    if (link) line.append(said);
    this.#told.append(line);
  }

  /** @param {string} kind */
  hush(kind) {
    this.#told.querySelector(`[data-kind="${kind}"]`)?.remove();
  }

  /** @param {KeyboardEvent} event */
  #pressed(event) {
    // While an input method composes a word, Enter chooses it (229: some browsers say so only by that).
    if (event.key !== "Enter" || event.shiftKey || event.isComposing || event.keyCode === 229) return;
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
    this.#told.replaceChildren();
    const files = this.#attachments.take();
    this.value = "";
    this.#keep();
    this.#on.send(text.trim() ? text : "", files);
    this.focus();
  }

  #stopNow() {
    this.#on.stop();
    this.focus();
  }

  // As the server has it: words, or files, or both.
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
    // A code point has one or two units, so a short text need not be counted.
    const length = this.value.length > this.#longest * SHOW_COUNT_FROM ? this.#length() : 0;
    const over = length > this.#longest;
    this.#count.hidden = length <= this.#longest * SHOW_COUNT_FROM;
    const numbers = new Intl.NumberFormat(document.documentElement.lang);
    /** @type {Record<string, string>} */
    const shown = { "{length}": numbers.format(length), "{longest}": numbers.format(this.#longest) };
    this.#count.textContent = words.count.replace(/\{\w+\}/g, (name) => shown[name]);
    this.#count.toggleAttribute("data-over", over);
    this.#text.setAttribute("aria-invalid", String(over));
    this.#showSend();
    this.#send.setAttribute("aria-disabled", String(over || this.#isEmpty || this.#attachments.isBusy));
    clearTimeout(this.#keeping);
    this.#keeping = setTimeout(() => this.#keep(), KEEP_DRAFT_AFTER);
  }

  // While an answer runs, there is something to send only once something is written: it is queued.
  #showSend() {
    this.#send.hidden = this.#isRunning && this.#isEmpty;
  }

  #keep() {
    clearTimeout(this.#keeping);
    this.#on.draft(this.value, this.#attachments.files);
  }
}
