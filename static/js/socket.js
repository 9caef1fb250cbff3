// One WebSocket that comes back by itself.

/** @import { ClientFrame, ServerFrame } from "./frames.js" */

/** @typedef {"open" | "waiting" | "signed out"} SocketState */

const PING_EVERY = 20_000;
const SILENCE = 45_000;
// A wait is between half of it and the whole.
const FIRST_WAIT = 1000;
const LONGEST_WAIT = 30_000;
// A socket that lived shorter than this is no reason to hurry back.
const SETTLED = 5000;
const NOT_SIGNED_IN = 4401;

export class Socket {
  /** @type {WebSocket | null} */
  #socket = null;
  #wait = FIRST_WAIT;
  #openedAt = Infinity;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #silence;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #pulse;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #again;
  #isOver = false;
  #on;

  /** @param {{ onFrame: (frame: ServerFrame) => void, onState: (state: SocketState) => void }} on */
  constructor({ onFrame, onState }) {
    this.#on = { frame: onFrame, state: onState };
    const now = () => this.#connectNow();
    addEventListener("online", now);
    // A page that one comes back to may be the very same one, asleep meanwhile: its socket is closed in order.
    addEventListener("pagehide", () => this.#leave());
    addEventListener("pageshow", now);
    document.addEventListener("visibilitychange", () => document.hidden || now());
  }

  connect() {
    if (this.#isOver) return;
    const address = new URL("/ws/", location.href);
    address.protocol = address.protocol === "https:" ? "wss:" : "ws:";
    const socket = new WebSocket(address);
    this.#socket = socket;
    this.#heard(socket);
    socket.addEventListener("open", () => {
      if (this.#socket !== socket) return;
      this.#heard(socket);
      this.#openedAt = Date.now();
      this.#pulse = setInterval(() => this.say({ type: "ping" }), PING_EVERY);
      this.#on.state("open");
    });
    socket.addEventListener("message", (event) => {
      this.#heard(socket);
      this.#on.frame(JSON.parse(event.data));
    });
    socket.addEventListener("close", (event) => this.#closed(socket, event.code));
  }

  get isOpen() {
    return this.#socket?.readyState === WebSocket.OPEN;
  }

  // What is said while it is not open is lost.
  /** @param {ClientFrame} frame */
  say(frame) {
    if (this.isOpen) this.#socket?.send(JSON.stringify(frame));
  }

  // From now on it may be silent for so long, and counts as dead after that.
  /** @param {WebSocket} socket */
  #heard(socket) {
    if (this.#socket !== socket) return;
    clearTimeout(this.#silence);
    this.#silence = setTimeout(() => {
      // close() of a dead connection may wait for minutes for an answer.
      socket.close();
      this.#closed(socket, 0);
    }, SILENCE);
  }

  /**
   * @param {WebSocket} socket
   * @param {number} code
   */
  #closed(socket, code) {
    if (this.#socket !== socket) return;
    clearInterval(this.#pulse);
    clearTimeout(this.#silence);
    this.#socket = null;
    if (code === NOT_SIGNED_IN) {
      this.#isOver = true;
      this.#on.state("signed out");
      return;
    }
    this.#on.state("waiting");
    if (Date.now() - this.#openedAt > SETTLED) this.#wait = FIRST_WAIT;
    this.#openedAt = Infinity;
    // Jitter: those who lost the server together do not come back together.
    this.#again = setTimeout(() => this.connect(), this.#wait * (0.5 + Math.random() / 2));
    this.#wait = Math.min(this.#wait * 2, LONGEST_WAIT);
  }

  #leave() {
    clearTimeout(this.#again);
    clearInterval(this.#pulse);
    clearTimeout(this.#silence);
    const socket = this.#socket;
    this.#socket = null;
    socket?.close();
    this.#on.state("waiting");
  }

  #connectNow() {
    if (this.#socket) return;
    clearTimeout(this.#again);
    this.#wait = FIRST_WAIT;
    this.connect();
  }
}
