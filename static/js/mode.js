// The field for how a conversation uses memory: it can be chosen until the first message, and is then shown in the header.

import { find } from "./dom.js";

export class Mode {
  #mark;
  /** @type {HTMLElement | null} */
  #choice;
  /** @type {HTMLSelectElement | null} */
  #select;
  #end;
  #value;

  /** @param {HTMLElement} main */
  constructor(main) {
    this.#mark = find(main, "[data-mode-mark]", HTMLElement);
    this.#choice = main.querySelector("[data-mode-choice]");
    this.#select = main.querySelector("[data-mode-choice] select");
    this.#end = find(main, "[data-end] button", HTMLButtonElement);
    this.#value = main.dataset.mode;
    this.#select?.addEventListener("change", () => this.choose(this.#select?.value));
    // The browser may restore the field of a page to which the person returns.
    this.choose(this.#select?.value);
  }

  get value() {
    return this.#value;
  }

  /** @param {string} [value] */
  choose(value) {
    if (!this.#select || !value) return;
    this.#select.value = this.#value = value;
    const { mark = "", end } = this.#select.selectedOptions[0].dataset;
    this.#mark.textContent = mark;
    this.#mark.hidden = !mark;
    if (end) this.#end.title = end;
  }

  // Allow another choice, because nothing was stored.
  release() {
    if (this.#choice) this.#choice.hidden = false;
  }

  // Fix the mode, because the first message was sent.
  fix() {
    if (this.#choice) this.#choice.hidden = true;
  }
}
