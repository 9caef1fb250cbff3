// One WebSocket that comes back by itself. docs/protocol.md has the frames.

const PING_EVERY = 20_000;
const SILENCE = 45_000;
const FIRST_WAIT = 500;
const LONGEST_WAIT = 30_000;
const NOT_SIGNED_IN = 4401;

export class Socket {
  #socket = null;
  #wait = FIRST_WAIT;
  #heard = 0;
  #pulse = null;
  #again = null;

  // onOpen() once connected, onFrame(frame) for each frame, onState("open" | "waiting" | "closed").
  constructor({ onOpen, onFrame, onState }) {
    this.onOpen = onOpen;
    this.onFrame = onFrame;
    this.onState = onState;
    addEventListener("online", () => this.#connectNow());
    addEventListener("pageshow", () => this.#connectNow());
    document.addEventListener("visibilitychange", () => document.hidden || this.#connectNow());
  }

  get isOpen() {
    return this.#socket?.readyState === WebSocket.OPEN;
  }

  connect() {
    const address = new URL("/ws/", location.href);
    address.protocol = address.protocol === "https:" ? "wss:" : "ws:";
    const socket = new WebSocket(address);
    this.#socket = socket;
    socket.addEventListener("open", () => {
      this.#wait = FIRST_WAIT;
      this.#heard = Date.now();
      this.#pulse = setInterval(() => this.#beat(socket), PING_EVERY);
      this.onState("open");
      this.onOpen();
    });
    socket.addEventListener("message", (event) => {
      this.#heard = Date.now();
      this.onFrame(JSON.parse(event.data));
    });
    socket.addEventListener("close", (event) => {
      clearInterval(this.#pulse);
      if (this.#socket !== socket) return;
      this.#socket = null;
      if (event.code === NOT_SIGNED_IN) {
        this.onState("closed");
        location.assign(`/accounts/login/?next=${encodeURIComponent(location.pathname)}`);
        return;
      }
      this.onState("waiting");
      this.#again = setTimeout(() => this.connect(), this.#wait * (0.5 + Math.random() / 2));
      this.#wait = Math.min(this.#wait * 2, LONGEST_WAIT);
    });
  }

  // Whether the frame left; one that did not is for the caller to say again after onOpen.
  say(type, fields = {}) {
    if (!this.isOpen) return false;
    this.#socket.send(JSON.stringify({ type, ...fields }));
    return true;
  }

  #beat(socket) {
    if (Date.now() - this.#heard > SILENCE) socket.close();
    else this.say("ping");
  }

  #connectNow() {
    if (this.#socket) return;
    clearTimeout(this.#again);
    this.#wait = FIRST_WAIT;
    this.connect();
  }
}
