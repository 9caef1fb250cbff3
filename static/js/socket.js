// One WebSocket that comes back by itself.

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
  #isOver = false;
  #on;

  // onOpen() once connected, onFrame(frame) for each frame, onState("open" | "waiting" | "signed out").
  constructor({ onOpen, onFrame, onState }) {
    this.#on = { open: onOpen, frame: onFrame, state: onState };
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
    socket.addEventListener("open", () => {
      this.#heard = Date.now();
      this.#pulse = setInterval(() => this.#beat(socket), PING_EVERY);
      this.#on.state("open");
      this.#on.open();
    });
    socket.addEventListener("message", (event) => {
      // A server that takes the socket and drops it again is no reason to hurry.
      this.#wait = FIRST_WAIT;
      this.#heard = Date.now();
      this.#on.frame(JSON.parse(event.data));
    });
    socket.addEventListener("close", (event) => this.#closed(socket, event.code));
  }

  // Whether the frame left; one that did not is for the caller to say again in onOpen.
  say(type, fields = {}) {
    if (this.#socket?.readyState !== WebSocket.OPEN) return false;
    this.#socket.send(JSON.stringify({ type, ...fields }));
    return true;
  }

  #closed(socket, code) {
    clearInterval(this.#pulse);
    if (this.#socket !== socket) return;
    this.#socket = null;
    if (code === NOT_SIGNED_IN) {
      this.#isOver = true;
      this.#on.state("signed out");
      return;
    }
    this.#on.state("waiting");
    // Jitter: those who lost the server together do not come back together.
    this.#again = setTimeout(() => this.connect(), this.#wait * (0.5 + Math.random() / 2));
    this.#wait = Math.min(this.#wait * 2, LONGEST_WAIT);
  }

  #beat(socket) {
    if (Date.now() - this.#heard <= SILENCE) this.say("ping");
    else {
      // close() of a dead connection may wait for minutes for an answer.
      socket.close();
      this.#closed(socket, 0);
    }
  }

  #leave() {
    clearTimeout(this.#again);
    clearInterval(this.#pulse);
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
