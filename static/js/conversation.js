// The list of messages: frames become articles and blocks. The server's HTML is sanitised there.

const NEAR_END = 80;

export class Conversation {
  #follows = true;

  constructor({ scroller, list, welcome, jump, announcer }) {
    Object.assign(this, { scroller, list, welcome, jump, announcer });
    scroller.addEventListener("scroll", () => {
      this.#follows = this.#distance() < NEAR_END;
      jump.hidden = this.#follows;
    });
    jump.addEventListener("click", () => this.toEnd());
    new ResizeObserver(() => this.#keepUp()).observe(list);
    this.toEnd();
  }

  #distance() {
    return this.scroller.scrollHeight - this.scroller.scrollTop - this.scroller.clientHeight;
  }

  #keepUp() {
    if (this.#follows) this.scroller.scrollTop = this.scroller.scrollHeight;
    else this.jump.hidden = false;
  }

  toEnd() {
    this.#follows = true;
    this.jump.hidden = true;
    this.scroller.scrollTop = this.scroller.scrollHeight;
  }

  // The newest place with nothing running before it: what need not be sent again.
  get lastSeq() {
    let last = 0;
    for (const article of this.list.querySelectorAll("article[data-seq]")) {
      if (article.dataset.status === "running") break;
      last = Number(article.dataset.seq);
    }
    return last;
  }

  get running() {
    return this.list.querySelector('article[data-status="running"]');
  }

  clear() {
    for (const article of this.list.querySelectorAll("article[data-seq]")) article.remove();
  }

  // A message of one's own that the server has not confirmed yet.
  addPending(clientId, text) {
    if (this.list.querySelector(`[data-client-id="${clientId}"]`)) return;
    const article = document.createElement("article");
    article.className = "message message--user message--pending";
    article.dataset.clientId = clientId;
    const said = document.createElement("div");
    said.className = "said";
    said.textContent = text;
    article.append(said);
    this.list.append(article);
    this.#changed();
    this.toEnd();
  }

  confirmPending(clientId, id) {
    const article = this.list.querySelector(`[data-client-id="${clientId}"]`);
    if (!article) return;
    if (document.getElementById(`message-${id}`)) article.remove();
    else {
      article.id = `message-${id}`;
      article.classList.remove("message--pending");
    }
  }

  dropPending(clientId) {
    this.list.querySelector(`[data-client-id="${clientId}"]`)?.remove();
    this.#changed();
  }

  setMessage({ id, seq, html }) {
    const template = document.createElement("template");
    template.innerHTML = html;
    const article = template.content.querySelector("article");
    if (!article) return;
    const old = document.getElementById(`message-${id}`);
    if (old) old.replaceWith(article);
    else {
      const later = [...this.list.querySelectorAll("article")].find((other) => !other.dataset.seq || Number(other.dataset.seq) > seq);
      this.list.insertBefore(article, later ?? null);
    }
    this.#changed();
  }

  setBlock({ message, index, revision, html }) {
    const body = this.#body(message);
    if (!body) return;
    let block = body.querySelector(`:scope > .block[data-index="${index}"]`);
    if (!block) {
      block = this.#place(body, index);
    } else if (Number(block.dataset.revision ?? -1) >= revision) return;
    block.dataset.revision = revision;
    block.innerHTML = html;
    block.hidden = html === "";
  }

  setTool({ message, id, html }) {
    const body = this.#body(message);
    if (!body) return;
    const template = document.createElement("template");
    template.innerHTML = html;
    const card = document.getElementById(`tool-${id}`);
    if (card) card.replaceWith(template.content);
    else {
      const last = Math.max(-1, ...[...body.querySelectorAll(":scope > .block")].map((block) => Number(block.dataset.index)));
      this.#place(body, last + 1).append(template.content);
    }
  }

  settle({ message, status }) {
    const article = document.getElementById(`message-${message}`);
    if (!article) return;
    article.dataset.status = status;
    this.announcer.textContent = article.querySelector(".message__body")?.textContent.trim().slice(0, 600) ?? "";
  }

  #body(id) {
    return document.getElementById(`message-${id}`)?.querySelector(".message__body");
  }

  #place(body, index) {
    const block = document.createElement("div");
    block.className = "block";
    block.dataset.index = index;
    const later = [...body.querySelectorAll(":scope > .block")].find((other) => Number(other.dataset.index) > index);
    body.insertBefore(block, later ?? null);
    return block;
  }

  #changed() {
    this.welcome.hidden = this.list.querySelector("article") !== null;
  }
}
