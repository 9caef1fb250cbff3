// What stands at a piece of code: its copy button, and the words with which a long one is unfolded. The HTML that the
// server keeps holds these elements without words; they get those of the page's language here.

import { words } from "./words.js";

const COPY =
  '<button type="button" class="act" data-do="copy-code"><svg class="icon" aria-hidden="true" focusable="false"><use href="#icon-copy"/></svg></button>';

class CopyCode extends HTMLElement {
  connectedCallback() {
    if (this.firstChild) return;
    this.innerHTML = COPY;
    Object.assign(this.firstChild, { title: words.copyCode, ariaLabel: words.copyCode });
  }
}

class ShowAll extends HTMLElement {
  #lines = null;

  connectedCallback() {
    this.#lines ??= this.textContent;
    const fold = this.closest("details");
    const say = () => (this.textContent = (fold?.open ? words.showLess : words.showAll).replace("{lines}", this.#lines));
    fold?.addEventListener("toggle", say);
    say();
  }
}

customElements.define("copy-code", CopyCode);
customElements.define("show-all", ShowAll);
