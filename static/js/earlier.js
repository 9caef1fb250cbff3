// Earlier messages: fetched when the person scrolls up to them, or follows a link to one.

import { alive, around } from "./dom.js";

// Pixels from the top at which they are fetched.
const NEAR = 400;

export class Earlier {
  #list;
  #scroller;
  #address;
  #follower;
  /** @type {Promise<void> | null} */
  #loading = null;

  /**
   * @param {HTMLElement} list
   * @param {HTMLElement} scroller
   * @param {string} address
   * @param {import("./follower.js").Follower} follower
   */
  constructor(list, scroller, address, follower) {
    this.#list = list;
    this.#scroller = scroller;
    this.#address = address;
    this.#follower = follower;
    scroller.addEventListener("scroll", () => scroller.scrollTop < NEAR && this.load(), { passive: true });
    list.addEventListener("click", (event) => {
      if (!around(event, "[data-earlier]")) return;
      event.preventDefault();
      this.load();
    });
  }

  /**
   * Scroll to the message that the URL names by #message-ID@SEQ, and fetch it first if necessary.
   * @param {string} hash
   */
  async show(hash) {
    const [, id, seq] = /^#(message-\d+)@(\d+)$/.exec(hash) ?? [];
    if (!id) return;
    // Another request may be running, and the list may be replaced meanwhile.
    for (let tries = 0; tries < 3 && !document.getElementById(id); tries += 1) await this.load(seq);
    const message = document.getElementById(id);
    if (!message) return;
    // The new height is noticed after this, and would scroll back to the end.
    this.#follower.stay();
    message.scrollIntoView({ block: "center" });
  }

  /** @param {string | null} to */
  load(to = null) {
    this.#loading ??= this.#load(to).finally(() => (this.#loading = null));
    return this.#loading;
  }

  /** @param {string | null} to */
  async #load(to) {
    /** @type {HTMLElement | null} */
    const link = this.#list.querySelector("[data-earlier]");
    if (!link) return;
    const from = to === null ? "" : `&to=${to}`;
    const answer = await fetch(`${this.#address}/messages?before=${link.dataset.earlier}${from}`).catch(() => null);
    if (!answer?.ok || !link.isConnected) return;
    const template = document.createElement("template");
    template.innerHTML = await answer.text();
    // Keep the scroll position of what is being read.
    const below = this.#scroller.scrollHeight - this.#scroller.scrollTop;
    const added = [...template.content.children];
    link.replaceWith(template.content);
    added.forEach(alive);
    this.#scroller.scrollTop = this.#scroller.scrollHeight - below;
  }
}
