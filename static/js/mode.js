// How a conversation uses memory: its mode (whether memory is written) is chosen until the first message and is then shown
// in the header; which memory is read may change later. One field offers both.

import { find } from "./dom.js";

export class Mode {
  #main;
  #mark;
  #value;
  #isFixed = false;
  // All options of a field, as it came: that of another space replaces it.
  /** @type {WeakMap<HTMLSelectElement, HTMLOptionElement[]>} */
  #options = new WeakMap();

  /** @param {HTMLElement} main */
  constructor(main) {
    this.#main = main;
    this.#mark = find(main, "[data-mode-mark]", HTMLElement);
    this.#value = main.dataset.mode;
    main.addEventListener("change", ({ target }) => target === this.#select && this.#show());
    // Another space offers another field, perhaps after the first message was sent.
    main.addEventListener("htmx:afterSwap", () => (this.#isFixed ? this.#draw() : this.#show()));
    // The browser may restore the field of a page to which the person returns.
    if ("new" in main.dataset) this.#show();
  }

  get value() {
    return this.#value;
  }

  /**
   * Choose as a kept message says; without a `memory` it says nothing of that.
   * @param {string} [mode]
   * @param {string} [memory]
   */
  choose(mode = this.#value, memory) {
    const select = this.#select;
    const chosen = select?.selectedOptions[0];
    if (!select || !chosen || (memory === undefined && chosen.dataset.mode === mode)) return;
    const options = [...select.options].filter((option) => option.dataset.mode === mode);
    let option = options.find((one) => one.dataset.memory === (memory ?? "all"));
    if (!option) {
      // Its space offers it: the field of that space comes with its name.
      option = new Option("…", `${mode}:${memory}`);
      Object.assign(option.dataset, { mode, memory });
      select.append(option);
      this.#options.delete(select);
      this.#main.querySelector("#space")?.dispatchEvent(new Event("change", { bubbles: true }));
    }
    option.selected = true;
    this.#show();
  }

  // Allow another choice, because nothing was stored.
  release() {
    this.#isFixed = false;
    this.#draw();
  }

  // Fix the mode, because the first message was sent.
  fix() {
    this.#isFixed = true;
    this.#draw();
  }

  get #select() {
    return /** @type {HTMLSelectElement | null} */ (this.#main.querySelector("#use"));
  }

  // Offer what may still be chosen. A field without a choice is not shown.
  #draw() {
    const select = this.#select;
    if (!select) return;
    const all = this.#options.get(select) ?? [...select.options];
    this.#options.set(select, all);
    const chosen = select.selectedOptions[0];
    const offered = all.filter(({ dataset }) => !this.#isFixed || dataset.mode === this.#value);
    select.replaceChildren(...offered);
    if (offered.length > 0) (offered.includes(chosen) ? chosen : offered[0]).selected = true;
    const field = select.parentElement;
    if (field) field.hidden = offered.length < 2;
  }

  #show() {
    const { mode, mark = "" } = this.#select?.selectedOptions[0]?.dataset ?? {};
    if (!mode || this.#isFixed) return;
    this.#value = mode;
    this.#mark.textContent = mark;
    this.#mark.hidden = !mark;
  }
}
