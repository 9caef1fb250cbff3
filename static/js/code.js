// The copy button of a code block, and the label that unfolds a long one. The stored HTML has these elements without
// labels; here they get them in the page's language.

import { find } from "./dom.js";
import { words } from "./words.js";

const COPY =
  '<button type="button" class="act" data-do="copy-code"><svg class="icon" aria-hidden="true" focusable="false"><use href="#icon-copy"/></svg></button>';

class CopyCode extends HTMLElement {
  connectedCallback() {
    if (this.firstChild) return;
    this.innerHTML = COPY;
    Object.assign(find(this, "button", HTMLButtonElement), { title: words.copyCode, ariaLabel: words.copyCode });
    drawDiagram(this.parentElement);
  }
}

/**
 * Draw a diagram, on pages that have the words for it. What draws is loaded with the first one.
 * @param {HTMLElement | null} box
 */
async function drawDiagram(box) {
  if (!words.showDiagram || !box?.querySelector('[data-language="mermaid" i]')) return;
  (await import("./diagrams.js")).draw(box);
}

class ShowAll extends HTMLElement {
  /** @type {string | null} */
  #lines = null;

  connectedCallback() {
    const fold = this.closest("details");
    const lines = (this.#lines ??= this.textContent ?? "");
    const say = () => (this.textContent = (fold?.open ? words.showLess : words.showAll).replace("{lines}", lines));
    // In place of the one before: a growing block is given its number of lines again and again.
    if (fold) fold.ontoggle = say;
    say();
  }
}

customElements.define("copy-code", CopyCode);
customElements.define("show-all", ShowAll);
