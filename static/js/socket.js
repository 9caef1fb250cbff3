// A WebSocket that reconnects by itself, with a backoff.

/** @import { ClientFrame, ServerFrame } from "./frames.js" */

/** @typedef {"open" | "waiting" | "signed out"} SocketState */

const PING_EVERY = 20_000;
const SILENCE = 45_000;
// Each wait is chosen at random between half of this time and all of it.
const FIRST_WAIT = 1000;
const LONGEST_WAIT = 30_000;
// After a socket that was open for this long, the backoff starts again at its minimum.
const STABLE_MS = 5000;
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
    // A page in the back/forward cache keeps its state: close its socket properly.
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

  // Send a frame; it is lost while the socket is not open.
  /** @param {ClientFrame} frame */
  say(frame) {
    if (this.isOpen) this.#socket?.send(JSON.stringify(frame));
  }

  // Start the timeout after which a silent socket counts as dead.
  /** @param {WebSocket} socket */
  #heard(socket) {
    if (this.#socket !== socket) return;
    clearTimeout(this.#silence);
    this.#silence = setTimeout(() => {
      // close() may wait for minutes for the reply of a dead connection.
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
    if (Date.now() - this.#openedAt > STABLE_MS) this.#wait = FIRST_WAIT;
    this.#openedAt = Infinity;
    // Jitter, so that clients that lost the server together do not reconnect together.
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
