// The people of a shared conversation: who is here, who is writing, whose message is next, and whose messages these are.

/** @import { PresentPerson, WaitingMessage } from "./frames.js" */

// The server forgets after 5 s that somebody writes.
const WRITING_EVERY_MS = 2500;
const SHOWN_MAX_COUNT = 5;

export class Company {
  #person;
  #here;
  #writing;
  #queue;
  #onTakeBack;
  #writingAt = 0;

  /**
   * @param {HTMLElement} main
   * @param {HTMLElement} list
   * @param {string} person the id of whose page this is
   * @param {{ onTakeBack: (message: WaitingMessage) => void, onWriting: () => void }} on
   */
  constructor(main, list, person, { onTakeBack, onWriting }) {
    this.#person = person;
    this.#here = /** @type {HTMLElement | null} */ (main.querySelector("[data-company]"));
    this.#writing = /** @type {HTMLElement | null} */ (main.querySelector("[data-writing]"));
    this.#queue = /** @type {HTMLElement | null} */ (main.querySelector("[data-queue]"));
    this.#onTakeBack = onTakeBack;
    if (!this.#here) return;
    main.querySelector("textarea")?.addEventListener("input", () => {
      const now = Date.now();
      if (now - this.#writingAt < WRITING_EVERY_MS) return;
      this.#writingAt = now;
      onWriting();
    });
    this.#mark(list);
    new MutationObserver(() => this.#mark(list)).observe(list, { childList: true, attributes: true, attributeFilter: ["data-author"], subtree: true });
  }

  /** @param {PresentPerson[]} people */
  setPeople(people) {
    if (!this.#here || !this.#writing) return;
    const others = people.filter(({ person }) => person !== this.#person);
    this.#here.hidden = others.length === 0;
    const shown = others.slice(0, SHOWN_MAX_COUNT).map(({ initials, name }) => badge(initials, name));
    const rest = others.slice(SHOWN_MAX_COUNT);
    if (rest.length) shown.push(badge(`+${rest.length}`, rest.map(({ name }) => name).join(", ")));
    this.#here.replaceChildren(...shown);
    const [first, second, third] = others.filter(({ writing }) => writing);
    const { one = "", two = "", many = "" } = this.#writing.dataset;
    const says = third ? many : second ? two.replace("{other}", () => second.name) : first ? one : "";
    const words = first ? says.replace("{name}", () => first.name) : "";
    if (this.#writing.textContent !== words) this.#writing.textContent = words;
    this.#writing.hidden = !words;
  }

  /** @param {WaitingMessage[]} waiting the next one first */
  setQueue(waiting) {
    const list = this.#queue?.querySelector("ol");
    if (!this.#queue || !list) return;
    this.#queue.hidden = waiting.length === 0;
    list.replaceChildren(...waiting.map((message) => this.#row(message, list)));
  }

  /**
   * @param {WaitingMessage} message
   * @param {HTMLElement} list
   */
  #row(message, list) {
    const row = document.createElement("li");
    row.className = "queue__message";
    const name = document.createElement("strong");
    name.textContent = message.name;
    const text = document.createElement("span");
    text.className = "queue__text";
    text.dir = "auto";
    text.textContent = [message.text, message.files ? `(${list.dataset.attached})` : ""].filter(Boolean).join(" ");
    row.append(name, " ", text);
    if (message.person === this.#person) {
      const button = document.createElement("button");
      button.type = "button";
      button.className = "button button--quiet button--small";
      button.textContent = list.dataset.takeBack ?? "";
      button.addEventListener("click", () => this.#onTakeBack(message));
      row.append(" ", button);
    }
    return row;
  }

  // The style sheet hides what only the author of a message may do.
  /** @param {HTMLElement} list */
  #mark(list) {
    for (const article of list.querySelectorAll("article[data-author]")) {
      const isOwn = article instanceof HTMLElement && article.dataset.author === this.#person;
      article.classList.toggle("message--others", !isOwn);
    }
  }
}

/**
 * @param {string} initials
 * @param {string} name
 */
function badge(initials, name) {
  const item = document.createElement("li");
  item.className = "initials";
  item.title = name;
  const shown = document.createElement("span");
  shown.setAttribute("aria-hidden", "true");
  shown.textContent = initials;
  const said = document.createElement("span");
  said.className = "visually-hidden";
  said.textContent = name;
  item.append(shown, said);
  return item;
}
