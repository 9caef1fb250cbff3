// How a conversation uses memory: its mode (whether memory is written) is chosen until the first message and is then shown
// in the header; which memory is read may change later. One field offers both.

import { find } from "./dom.js";

export class Mode {
  #main;
  #mark;
  #value;
  // The options of other modes, while the mode is fixed.
  /** @type {HTMLOptionElement[]} */
  #others = [];

  /** @param {HTMLElement} main */
  constructor(main) {
    this.#main = main;
    this.#mark = find(main, "[data-mode-mark]", HTMLElement);
    this.#value = main.dataset.mode;
    main.addEventListener("change", ({ target }) => target === this.#select && this.#show());
    // Another space offers another field.
    main.addEventListener("htmx:afterSwap", () => this.#show());
    // The browser may restore the field of a page to which the person returns.
    if ("new" in main.dataset) this.#show();
  }

  get value() {
    return this.#value;
  }

  /**
   * @param {string} [mode]
   * @param {string} [memory]
   */
  choose(mode = this.#value, memory) {
    const options = [...(this.#select?.options ?? [])].filter((option) => option.dataset.mode === mode);
    const option = options.find((one) => one.dataset.memory === memory) ?? options[0];
    if (!option) return;
    option.selected = true;
    this.#show();
  }

  // Allow another choice, because nothing was stored.
  release() {
    if (!this.#others.length) return;
    this.#select?.append(...this.#others);
    this.#others = [];
    this.#hide();
  }

  // Fix the mode, because the first message was sent.
  fix() {
    const options = [...(this.#select?.options ?? [])];
    this.#others.push(...options.filter((option) => option.dataset.mode !== this.#value));
    for (const option of this.#others) option.remove();
    this.#hide();
  }

  get #select() {
    return /** @type {HTMLSelectElement | null} */ (this.#main.querySelector("#use"));
  }

  // A field without a choice is not shown.
  #hide() {
    const field = this.#select?.parentElement;
    if (field) field.hidden = (this.#select?.options.length ?? 0) < 2;
  }

  #show() {
    const { mode, mark = "" } = this.#select?.selectedOptions[0]?.dataset ?? {};
    if (!mode || this.#others.length) return;
    this.#value = mode;
    this.#mark.textContent = mark;
    this.#mark.hidden = !mark;
  }
}
