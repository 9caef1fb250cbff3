// How a conversation uses memory: chosen until its first message, then said in its head.

export class Mode {
  #mark;
  #choice;
  #end;
  #value;

  constructor(main) {
    this.#mark = main.querySelector("[data-mode-mark]");
    this.#choice = main.querySelector("[data-mode-choice]");
    this.#end = main.querySelector("[data-end] button");
    this.#value = main.dataset.mode;
    this.#choice?.querySelector("select").addEventListener("change", (event) => this.choose(event.target.value));
    // What the browser had kept in the field of a page that one comes back to.
    if (this.#choice) this.choose(this.#choice.querySelector("select").value);
  }

  get value() {
    return this.#value;
  }

  choose(value) {
    const select = this.#choice?.querySelector("select");
    if (!select || !value) return;
    select.value = this.#value = value;
    const { mark = "", end } = select.selectedOptions[0].dataset;
    this.#mark.textContent = mark;
    this.#mark.hidden = !mark;
    if (end) this.#end.title = end;
  }

  // The first message is on its way: nothing can be chosen any more.
  settle() {
    if (this.#choice) this.#choice.hidden = true;
  }
}
