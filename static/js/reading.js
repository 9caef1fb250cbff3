// Tells the server what the person has had before their eyes, so that the list marks only what is new.

export class Reading {
  #told = 0;

  /** @param {{ address: string, token: string, lastSeq: () => number }} options */
  constructor({ address, token, lastSeq }) {
    this.address = address;
    this.token = token;
    this.lastSeq = lastSeq;
    document.addEventListener("visibilitychange", () => this.tell());
  }

  async tell() {
    const seq = this.lastSeq();
    if (document.hidden || seq <= this.#told) return;
    this.#told = seq;
    const body = new URLSearchParams({ seq: String(seq) });
    try {
      await fetch(`${this.address}/read`, { method: "POST", headers: { "X-CSRFToken": this.token }, body });
    } catch {
      // No network: it is told with the next message.
      this.#told = 0;
    }
  }
}
