// Reports to the server which messages were visible, so that the list marks only conversations with new ones.

export class Reading {
  #reported = 0;

  /** @param {{ address: string, token: string, lastSeq: () => number }} options */
  constructor({ address, token, lastSeq }) {
    this.address = address;
    this.token = token;
    this.lastSeq = lastSeq;
    document.addEventListener("visibilitychange", () => this.tell());
  }

  async tell() {
    const seq = this.lastSeq();
    if (document.hidden || seq <= this.#reported) return;
    this.#reported = seq;
    const body = new URLSearchParams({ seq: String(seq) });
    try {
      await fetch(`${this.address}/read`, { method: "POST", headers: { "X-CSRFToken": this.token }, body });
    } catch {
      // No network: it is reported with the next message.
      this.#reported = 0;
    }
  }
}
