// Announces finished blocks to a screen reader, instead of each word as it arrives.

const KEPT_MAX_COUNT = 5;

export class Announcer {
  #region;

  /** @param {HTMLElement} region */
  constructor(region) {
    this.#region = region;
  }

  /** @param {string} text */
  say(text) {
    const said = text.trim();
    if (!said) return;
    const line = document.createElement("p");
    line.textContent = said;
    this.#region.append(line);
    while (this.#region.children.length > KEPT_MAX_COUNT) this.#region.firstElementChild?.remove();
  }
}
