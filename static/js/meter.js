// The ring that shows how much of the model's window the conversation takes.

/** Show it as it is after the newest answer; without an answer of the server it stays as it was. */
export class Meter {
  #place;
  #address;
  #shown = "";

  /**
   * @param {HTMLElement} place
   * @param {string} address
   */
  constructor(place, address) {
    this.#place = place;
    this.#address = address;
  }

  async refresh() {
    const answer = await fetch(`${this.#address}/meter`).catch(() => null);
    const html = answer?.ok && !answer.redirected ? await answer.text() : "";
    // It may have the focus.
    if (html && html !== this.#shown) this.#place.innerHTML = this.#shown = html;
  }
}
