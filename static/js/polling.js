// The fallback without a WebSocket: sends frames by plain requests and polls for answers.

/** @import { ClientFrame, Ending, ServerFrame } from "./frames.js" */

const WHILE_RUNNING_MS = 1000;
const OTHERWISE_MS = 5000;
const REQUEST_TIMEOUT_MS = 15_000;
// The HTTP status when the page's list is out of date.
const TRIED_AGAIN_STATUS = 205;
// The HTTP status when the conversation was deleted; writing into it is refused with an error.
const NOT_FOUND_STATUS = 404;

export class Polling {
  #on;
  #address;
  #token;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #timer;
  #queue = Promise.resolve();
  // Incremented by each start and stop, so that a response to an earlier request is ignored.
  #round = 0;
  // Whether the last request failed.
  #isBroken = false;
  // Whether the next request tells the server that the person has opened this conversation.
  #opens = false;
  #isOn = false;

  // lastSeq(), isRunning() and isKnown() return what the page shows and whether the conversation exists. onFrame(frame)
  // gets each frame, as from a socket, and onMarkers(html) the markers between messages; onBack() is called when unacknowledged messages must be sent again, and
  // onState(works) when requests begin to work or fail.
  /**
   * @param {object} options
   * @param {string} options.address
   * @param {string} options.token
   * @param {() => number} options.lastSeq
   * @param {() => boolean} options.isRunning
   * @param {() => boolean} options.isKnown
   * @param {(frame: ServerFrame) => void} options.onFrame
   * @param {(html: string) => void} options.onMarkers
   * @param {() => void} options.onBack
   * @param {(works: boolean) => void} options.onState
   */
  constructor({ address, token, lastSeq, isRunning, isKnown, onFrame, onMarkers, onBack, onState }) {
    this.#address = address;
    this.#token = token;
    this.#on = { lastSeq, isRunning, isKnown, frame: onFrame, markers: onMarkers, back: onBack, state: onState };
  }

  start() {
    if (this.#isOn) return;
    this.#isOn = true;
    this.#round += 1;
    this.#opens = true;
    // After the first response the page sends again what was not acknowledged.
    this.#isBroken = true;
    this.#ask();
  }

  stop() {
    this.#isOn = false;
    this.#round += 1;
    clearTimeout(this.#timer);
  }

  // Send a frame, after those before it, so that messages keep their order.
  /** @param {ClientFrame} frame */
  say(frame) {
    this.#queue = this.#queue.then(() => this.#post(frame)).catch(() => {
      // No network: unacknowledged messages are sent again after it is back.
      this.#isBroken = true;
    });
  }

  /** @param {ClientFrame} frame */
  async #post(frame) {
    const headers = { "Content-Type": "application/json", "X-CSRFToken": this.#token };
    const body = JSON.stringify(frame);
    const answer = await fetch(`${this.#address}/frame`, { method: "POST", headers, body, signal: AbortSignal.timeout(REQUEST_TIMEOUT_MS) });
    // No longer signed in: the page links to the sign-in, and unsent messages stay in this browser.
    if (answer.redirected) location.reload();
    if (answer.redirected || !answer.ok) throw new Error(answer.statusText);
    this.#on.frame(await answer.json());
    if (this.#isOn) this.#ask();
  }

  async #ask() {
    clearTimeout(this.#timer);
    const round = this.#round;
    try {
      // A conversation that the server does not know yet has no messages: only check that the server can be reached.
      const address = this.#on.isKnown() ? `${this.#address}/messages?after=${this.#on.lastSeq()}${this.#opens ? "&open" : ""}` : "/healthz";
      const answer = await fetch(address, { signal: AbortSignal.timeout(REQUEST_TIMEOUT_MS) });
      const html = await answer.text();
      if (round !== this.#round) return;
      if (answer.redirected) location.reload();
      if (answer.redirected || !(answer.ok || answer.status === NOT_FOUND_STATUS)) throw new Error(answer.statusText);
      if (this.#on.isKnown()) this.#opens = false;
      this.#on.state(true);
      if (answer.status === TRIED_AGAIN_STATUS) this.#on.frame({ type: "ready", reset: true });
      else if (answer.ok) this.#show(html);
      if (this.#isBroken && answer.status !== TRIED_AGAIN_STATUS) {
        this.#isBroken = false;
        this.#on.back();
      }
    } catch {
      if (round !== this.#round) return;
      this.#isBroken = true;
      this.#on.state(false);
    }
    if (round !== this.#round) return;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#ask(), this.#on.isRunning() ? WHILE_RUNNING_MS : OTHERWISE_MS);
  }

  /** @param {string} html */
  #show(html) {
    const wasRunning = this.#on.isRunning();
    const template = document.createElement("template");
    template.innerHTML = html;
    const articles = [...template.content.querySelectorAll("article")];
    for (const { id, dataset, outerHTML } of articles) {
      this.#on.frame({ type: "message", id: id.replace("message-", ""), seq: Number(dataset.seq), html: outerHTML });
    }
    this.#on.markers([...template.content.querySelectorAll("[data-round]")].map(({ outerHTML }) => outerHTML).join(""));
    if (!wasRunning || this.#on.isRunning()) return;
    const answer = articles.findLast(({ dataset }) => dataset.role === "assistant");
    if (!answer) return;
    const status = /** @type {Ending} */ (answer.dataset.status);
    this.#on.frame({ type: "done", message: answer.id.replace("message-", ""), status, final: true });
  }
}
