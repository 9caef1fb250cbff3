// A WebSocket that reconnects by itself, with a backoff.

/** @import { ClientFrame, ServerFrame } from "./frames.js" */

/** @typedef {"open" | "waiting" | "signed out"} SocketState */

const PING_EVERY_MS = 20_000;
const SILENCE_MS = 45_000;
// After waking, a socket whose pong has not come by then is replaced.
const PONG_WAIT_MS = 3000;
// Each wait is chosen at random between half of this time and all of it.
const FIRST_WAIT_MS = 1000;
const LONGEST_WAIT_MS = 30_000;
// After a socket that was open for this long, the backoff starts again at its minimum.
const STABLE_MS = 5000;
const NOT_SIGNED_IN_CODE = 4401;

export class Socket {
  /** @type {WebSocket | null} */
  #socket = null;
  #wait = FIRST_WAIT_MS;
  // When the attempt began, and when it succeeded.
  #triedAt = 0;
  #openedAt = Infinity;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #silence;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #doubt;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #pulse;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #again;
  #isOver = false;
  #on;

  /** @param {{ onFrame: (frame: ServerFrame) => void, onState: (state: SocketState) => void }} on */
  constructor({ onFrame, onState }) {
    this.#on = { frame: onFrame, state: onState };
    // A page in the back/forward cache keeps its state: close its socket properly.
    addEventListener("pagehide", () => this.#leave());
    // After a sleep, the socket may be dead although it says that it is open.
    for (const type of ["online", "pageshow", "focus"]) addEventListener(type, () => this.#wake());
    document.addEventListener("visibilitychange", () => document.hidden || this.#wake());
  }

  connect() {
    if (this.#isOver) return;
    const address = new URL("/ws/", location.href);
    address.protocol = address.protocol === "https:" ? "wss:" : "ws:";
    const socket = new WebSocket(address);
    this.#socket = socket;
    this.#triedAt = Date.now();
    this.#heard(socket);
    socket.addEventListener("open", () => {
      if (this.#socket !== socket) return;
      this.#heard(socket);
      this.#trust(socket);
      this.#openedAt = Date.now();
      this.#pulse = setInterval(() => this.say({ type: "ping" }), PING_EVERY_MS);
      this.#on.state("open");
    });
    socket.addEventListener("message", (event) => {
      this.#heard(socket);
      /** @type {ServerFrame} */
      const frame = JSON.parse(event.data);
      // Other frames may have been sent before the sleep.
      if (frame.type === "pong") this.#trust(socket);
      this.#on.frame(frame);
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
    this.#silence = setTimeout(() => this.#drop(socket), SILENCE_MS);
  }

  /** @param {WebSocket} socket */
  #trust(socket) {
    if (this.#socket !== socket) return;
    clearTimeout(this.#doubt);
    this.#doubt = undefined;
  }

  /** @param {WebSocket} socket */
  #drop(socket) {
    // close() may wait for minutes for the reply of a dead connection.
    socket.close();
    this.#closed(socket, 0);
  }

  /**
   * @param {WebSocket} socket
   * @param {number} code
   */
  #closed(socket, code) {
    if (this.#socket !== socket) return;
    clearInterval(this.#pulse);
    clearTimeout(this.#silence);
    this.#trust(socket);
    this.#socket = null;
    if (code === NOT_SIGNED_IN_CODE) {
      this.#isOver = true;
      this.#on.state("signed out");
      return;
    }
    this.#on.state("waiting");
    if (Date.now() - this.#openedAt > STABLE_MS) this.#wait = FIRST_WAIT_MS;
    this.#openedAt = Infinity;
    // Jitter, so that clients that lost the server together do not reconnect together.
    this.#again = setTimeout(() => this.connect(), this.#wait * (0.5 + Math.random() / 2));
    this.#wait = Math.min(this.#wait * 2, LONGEST_WAIT_MS);
  }

  #leave() {
    clearTimeout(this.#again);
    clearInterval(this.#pulse);
    clearTimeout(this.#silence);
    const socket = this.#socket;
    if (socket) this.#trust(socket);
    this.#socket = null;
    socket?.close();
    this.#on.state("waiting");
  }

  // Connect now; ask the socket that there is, and replace it when it does not answer.
  #wake() {
    const socket = this.#socket;
    if (!socket) this.#connectNow();
    // One question at a time, and an attempt that has only begun gets its time.
    if (!socket || this.#doubt || (!this.isOpen && Date.now() - this.#triedAt < PONG_WAIT_MS)) return;
    this.say({ type: "ping" });
    this.#doubt = setTimeout(() => {
      this.#drop(socket);
      this.#connectNow();
    }, PONG_WAIT_MS);
  }

  #connectNow() {
    if (this.#socket) return;
    clearTimeout(this.#again);
    this.#wait = FIRST_WAIT_MS;
    this.connect();
  }
}
