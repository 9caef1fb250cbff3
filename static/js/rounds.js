// The markers in the list of messages: where a summary ends that the model reads, or will read.

/** @import { Announcer } from "./announcer.js" */
/** @import { Conversation } from "./conversation.js" */

import { around } from "./dom.js";

// The event, on the body, after which everything that shows summaries is fetched again.
const CHANGED = "rounds-changed";
// The states of which a screen reader is told when they begin.
const ANNOUNCED = ["ready", "used"];

export function tellRoundsChanged() {
  document.body.dispatchEvent(new CustomEvent(CHANGED));
}

export class Rounds {
  #list;
  #address;
  #conversation;
  #announcer;

  /**
   * @param {HTMLElement} list
   * @param {string} address
   * @param {Conversation} conversation
   * @param {Announcer} announcer
   */
  constructor(list, address, conversation, announcer) {
    this.#list = list;
    this.#address = address;
    this.#conversation = conversation;
    this.#announcer = announcer;
    document.body.addEventListener(CHANGED, () => this.refresh());
    list.addEventListener("click", (event) => {
      const cancel = around(event, "[data-leave-edit]");
      if (!cancel) return;
      event.preventDefault();
      cancel.closest("form")?.remove();
      this.refresh();
    });
  }

  // Whether one is shown that will change without a message.
  get isWaiting() {
    return this.#list.querySelector("[data-round=making]") !== null;
  }

  async refresh() {
    const answer = await fetch(`${this.#address}/rounds`).catch(() => null);
    if (answer?.ok && !answer.redirected) this.put(await answer.text());
  }

  /**
   * Show these markers and no others. The server may have some among earlier messages that this page has not fetched.
   * @param {string} html
   */
  put(html) {
    const template = document.createElement("template");
    template.innerHTML = html;
    /** @type {HTMLElement | null} */
    const earlier = this.#list.querySelector("[data-earlier]");
    const first = Number(earlier?.dataset.earlier ?? 0);
    /** @type {NodeListOf<HTMLElement>} */
    const all = template.content.querySelectorAll("[data-round]");
    const markers = [...all].filter(({ dataset }) => Number(dataset.seq) >= first);
    const ids = new Set(markers.map(({ id }) => id));
    for (const old of this.#shown) if (!ids.has(old.id) && !isBusy(old)) leave(old);
    for (const marker of markers) this.#put(marker);
  }

  /** @returns {HTMLElement[]} */
  get #shown() {
    /** @type {NodeListOf<HTMLElement>} */
    const markers = this.#list.querySelectorAll(":scope > [data-round]");
    return [...markers];
  }

  /** @param {HTMLElement} marker */
  #put(marker) {
    const old = this.#shown.find(({ id }) => id === marker.id);
    if (old && (isBusy(old) || isSame(old, marker))) return;
    const { round = "", seq } = marker.dataset;
    const isNews = ANNOUNCED.includes(round) && old?.dataset.round !== round;
    old?.remove();
    this.#conversation.insert(marker, Number(seq));
    if (isNews) this.#announcer.say(marker.querySelector(".marker__text")?.textContent ?? "");
  }
}

/**
 * Return whether the person is writing in a marker, or waits for the response to its button, which also refreshes it.
 * @param {HTMLElement} marker
 */
function isBusy(marker) {
  return marker.querySelector("[data-edits-round], .htmx-request") !== null;
}

/**
 * Return whether two markers show the same. Their forms have other tokens each time.
 * @param {HTMLElement} one
 * @param {HTMLElement} other
 */
function isSame(one, other) {
  const [shown, fresh] = [one, other].map(({ textContent, dataset }) => `${dataset.round} ${dataset.seq} ${textContent?.replace(/\s+/g, " ").trim()}`);
  return shown === fresh;
}

/**
 * Remove a marker. The focus that it has goes to the message before it.
 * @param {HTMLElement} marker
 */
function leave(marker) {
  const before = marker.previousElementSibling;
  const isFocused = marker.contains(document.activeElement);
  marker.remove();
  if (isFocused && before instanceof HTMLElement) before.focus({ preventScroll: true });
}
