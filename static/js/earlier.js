// Earlier messages: fetched when the person scrolls up to them, or follows a link to one.

import { alive, around } from "./dom.js";

const OK_STATUS = 200;
// Pixels from the top at which they are fetched.
const NEAR_PX = 400;
// A message to which an address leads, by #message-ID@SEQ.
const MESSAGE_HASH = /^#(message-\d+)@(\d+)$/;

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
    scroller.addEventListener("scroll", () => scroller.scrollTop < NEAR_PX && this.load(), { passive: true });
    list.addEventListener("click", (event) => {
      if (!around(event, "[data-earlier]")) return;
      event.preventDefault();
      this.load();
    });
    addEventListener("beforeprint", () => this.#loadAll());
    // A search result inside the open conversation changes the hash alone; the same result again changes nothing.
    addEventListener("hashchange", () => this.show(location.hash));
    document.addEventListener("click", (event) => {
      const link = around(event, "a");
      if (link instanceof HTMLAnchorElement && link.href === location.href) this.show(link.hash);
    });
  }

  /**
   * Scroll to the message that the URL names by #message-ID@SEQ, fetch it first if necessary, and mark it.
   * @param {string} hash
   */
  async show(hash) {
    const [, id, seq] = MESSAGE_HASH.exec(hash) ?? [];
    if (!id) return;
    // Another request may be running, and the list may be replaced meanwhile.
    for (let tries = 0; tries < 3 && !document.getElementById(id); tries += 1) await this.load(seq);
    const article = document.getElementById(id);
    if (!article) return;
    for (const marked of this.#list.querySelectorAll("[data-marked]")) marked.removeAttribute("data-marked");
    article.dataset.marked = "";
    // The new height is noticed after this, and would scroll back to the end.
    this.#follower.stay();
    article.scrollIntoView({ block: "center" });
    article.focus({ preventScroll: true });
  }

  // Fetch all that are missing before the page is printed, which waits for no promise.
  #loadAll() {
    const link = this.#link;
    if (!link) return;
    const request = new XMLHttpRequest();
    request.open("GET", this.#addressOf(link, "1"), false);
    try {
      request.send();
    } catch {
      return; // No network: the link to earlier messages is printed.
    }
    if (request.status === OK_STATUS) this.#put(link, request.responseText);
  }

  /** @returns {HTMLElement | null} */
  get #link() {
    return this.#list.querySelector("[data-earlier]");
  }

  /**
   * @param {HTMLElement} link
   * @param {string | null} to
   */
  #addressOf(link, to) {
    const from = to === null ? "" : `&to=${to}`;
    return `${this.#address}/messages?before=${link.dataset.earlier}${from}`;
  }

  /** @param {string | null} to */
  load(to = null) {
    this.#loading ??= this.#load(to).finally(() => (this.#loading = null));
    return this.#loading;
  }

  /** @param {string | null} to */
  async #load(to) {
    const link = this.#link;
    if (!link) return;
    const answer = await fetch(this.#addressOf(link, to)).catch(() => null);
    const html = answer?.ok ? await answer.text() : "";
    if (html && link.isConnected) this.#put(link, html);
  }

  /**
   * Put messages in the place of the link to them.
   * @param {HTMLElement} link
   * @param {string} html
   */
  #put(link, html) {
    const template = document.createElement("template");
    template.innerHTML = html;
    // Keep the scroll position of what is being read.
    const below = this.#scroller.scrollHeight - this.#scroller.scrollTop;
    const added = [...template.content.children];
    link.replaceWith(template.content);
    added.forEach(alive);
    this.#scroller.scrollTop = this.#scroller.scrollHeight - below;
  }
}
