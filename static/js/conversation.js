// The list of messages. Frames contain HTML that the server has rendered and sanitised.

/** @import { Announcer } from "./announcer.js" */
/** @import { BlockFrame, DoneFrame, MessageFrame, ToolFrame } from "./frames.js" */

import { grown } from "./blocks.js";
import { alive } from "./dom.js";
import { plainText } from "./math.js";
import { patch } from "./patching.js";

export class Conversation {
  #list;
  #announcer;

  /**
   * @param {HTMLElement} list
   * @param {HTMLElement} welcome
   * @param {Announcer} announcer
   */
  constructor(list, welcome, announcer) {
    this.#list = list;
    this.#announcer = announcer;
    new MutationObserver(() => (welcome.hidden = list.childElementCount > 0)).observe(list, { childList: true });
    // A card that a button in it has changed takes the focus, which was in the old one.
    list.addEventListener("htmx:load", ({ target }) => {
      const heading = target instanceof Element && target.matches(".card") ? target.querySelector("summary") : null;
      if (!heading) return;
      heading.focus({ preventScroll: true });
      announcer.say(plainText(heading));
    });
  }

  // The newest seq with no unfinished message before it: messages up to here need not be sent again.
  get lastSeq() {
    let last = 0;
    for (const article of this.#stored) {
      // An acknowledged message is stored, but messages before it may not be shown yet.
      if (isUnfinished(article) || "acknowledged" in article.dataset) break;
      last = Number(article.dataset.seq);
    }
    return last;
  }

  // The page has requested everything after lastSeq: the messages there are outdated until they arrive again.
  doubt() {
    const last = this.lastSeq;
    for (const article of this.#stored) article.toggleAttribute("data-doubtful", Number(article.dataset.seq) > last);
  }

  // Whether a message before this seq did not arrive with the requested ones, because it was retried.
  /** @param {number} seq */
  lacksNewsBefore(seq) {
    return this.#stored.some(({ dataset }) => "doubtful" in dataset && Number(dataset.seq) < seq);
  }

  get isRunning() {
    return this.#stored.some(isUnfinished);
  }

  // The id of a message of the running turn, which a stop frame names.
  get runningId() {
    return this.#stored.findLast(isUnfinished)?.id.replace("message-", "") ?? null;
  }

  // Whether this message is the last stored one, and nothing runs.
  /** @param {string} id */
  isLast(id) {
    return !this.isRunning && this.#stored.at(-1)?.id === `message-${id}`;
  }

  /** @param {string} id */
  seqOf(id) {
    return Number(document.getElementById(`message-${id}`)?.dataset.seq);
  }

  // Enable or disable the buttons under this answer.
  /**
   * @param {string} id
   * @param {boolean} isAllowed
   */
  allowAgain(id, isAllowed) {
    /** @type {NodeListOf<HTMLButtonElement>} */
    const buttons = document.querySelectorAll(`#message-${id} :is([data-action], [data-do=retry])`);
    for (const button of buttons) button.disabled = !isAllowed;
  }

  /** @returns {HTMLElement[]} */
  get #stored() {
    /** @type {NodeListOf<HTMLElement>} */
    const articles = this.#list.querySelectorAll("article[data-seq]");
    return [...articles];
  }

  // Replace the list by the stored messages; pending messages stay at the end.
  /** @param {string} html */
  replaceAll(html) {
    for (const stored of this.#list.querySelectorAll(":scope > [data-seq]")) stored.remove();
    const template = document.createElement("template");
    template.innerHTML = html;
    this.#list.prepend(template.content);
    alive(this.#list);
  }

  // -- The person's messages ---------------------------------------------------------------------

  // Confirm that the server has stored the message of this article.
  /**
   * @param {HTMLElement} article
   * @param {string} id
   * @param {number} seq
   */
  confirm(article, id, seq) {
    if (document.getElementById(`message-${id}`)) {
      article.remove();
      return;
    }
    article.id = `message-${id}`;
    article.dataset.seq = String(seq);
    article.dataset.acknowledged = "";
    article.dataset.role = "user";
    article.className = "message message--user";
    this.insert(article, seq);
  }

  // Remove an edited message and everything after it.
  /** @param {string} id */
  leaveFrom(id) {
    const from = this.seqOf(id);
    for (const later of this.#stored.filter(({ dataset }) => Number(dataset.seq) >= from)) later.remove();
  }

  // -- Frames ------------------------------------------------------------------------------------

  /** @param {MessageFrame} frame */
  setMessage({ id, seq, html }) {
    const fresh = parsed(html);
    if (!fresh) return;
    const shown = document.getElementById(`message-${id}`);
    delete shown?.dataset.acknowledged;
    delete shown?.dataset.doubtful;
    if (!shown) this.insert(fresh, seq);
    else if (!(fresh.dataset.status === "running" && shown.dataset.status !== "running")) become(shown, fresh);
  }

  // Insert a message, or a marker between messages, in the order of seq, before pending messages.
  /**
   * @param {HTMLElement} article
   * @param {number} seq
   */
  insert(article, seq) {
    const others = childrenOf(this.#list).filter((other) => other !== article);
    const later = others.find(({ dataset }) => !dataset.seq || Number(dataset.seq) > seq);
    this.#list.insertBefore(article, later ?? null);
    alive(article);
  }

  // Return whether the block could be shown: the page may lack what the frame continues.
  /** @param {BlockFrame} frame */
  setBlock(frame) {
    const { message, index } = frame;
    const body = this.#runningBody(message);
    if (!body) return true;
    /** @type {HTMLElement | null} */
    let block = body.querySelector(`:scope > .block[data-index="${index}"]`);
    const held = heldIn(block);
    const next = grown(held, frame);
    if (!next || next === held) return next !== null;
    if (!block) {
      // The block before it does not change any more.
      const last = childrenOf(body).at(-1);
      if (last && Number(last.dataset.index) < index) this.#announce(last);
      block = place(body, index);
    }
    block.dataset.revision = String(next.revision);
    setHtml(block, next.html);
    return true;
  }

  /** @param {ToolFrame} frame */
  setTool({ message, id, html }) {
    const body = this.#runningBody(message);
    if (!body) return;
    const block = body.querySelector(`[data-tool="${CSS.escape(id)}"]`)?.parentElement;
    const card = block ?? place(body, Number(childrenOf(body).at(-1)?.dataset.index ?? -1) + 1);
    // It is not the text of a revision any more, so nothing can be appended to it.
    delete card.dataset.revision;
    setHtml(card, html);
  }

  /** @param {DoneFrame} frame */
  finish({ message, status }) {
    const article = document.getElementById(`message-${message}`);
    if (!article) return;
    article.dataset.status = status;
    /** @type {NodeListOf<HTMLElement>} */
    const blocks = article.querySelectorAll(".message__body > .block");
    for (const block of blocks) this.#announce(block);
    if (status !== "complete") this.#announcer.say(article.querySelector(".message__end p")?.textContent ?? "");
  }

  /** @param {string} id */
  #runningBody(id) {
    const article = document.getElementById(`message-${id}`);
    return article && isUnfinished(article) ? article.querySelector(".message__body") : null;
  }

  /** @param {HTMLElement} block */
  #announce(block) {
    if (block.dataset.announced) return;
    block.dataset.announced = "yes";
    this.#announcer.say(plainText(block.querySelector(".card__heading") ?? block).slice(0, 2000));
  }
}

/** @param {HTMLElement} article */
function isUnfinished(article) {
  return article.dataset.status === "running" || article.querySelector('[data-tool][data-state="running"]') !== null;
}

/** @param {string} html */
function parsed(html) {
  const template = document.createElement("template");
  template.innerHTML = html;
  return template.content.querySelector("article");
}

// The HTML that was received for each block, and for each message without blocks. The DOM may differ, for example by rendered formulas.
const came = new WeakMap();

// Change only what differs, so that a selection, an unfolded card and a scrolled code block are kept.
/**
 * @param {HTMLElement} shown
 * @param {HTMLElement} fresh
 */
function become(shown, fresh) {
  for (const { name, value } of fresh.attributes) shown.setAttribute(name, value);
  const [body, freshBody] = [shown, fresh].map((article) => article.querySelector(".message__body"));
  if (!body || !freshBody?.querySelector(":scope > .block")) {
    const html = fresh.innerHTML;
    if ((came.get(shown) ?? shown.innerHTML) === html) return;
    came.set(shown, html);
    shown.replaceChildren(...fresh.childNodes);
    alive(shown);
    return;
  }
  const blocks = childrenOf(freshBody);
  for (const old of childrenOf(body).slice(blocks.length)) old.remove();
  for (const [index, block] of blocks.entries()) {
    const old = childrenOf(body)[index];
    if (!old) {
      body.append(block);
      alive(block);
    } else {
      old.dataset.index = block.dataset.index;
      delete old.dataset.revision;
      setHtml(old, block.innerHTML);
    }
  }
  for (const rest of [...shown.children]) if (rest !== body) rest.remove();
  const parts = [...fresh.children];
  const index = parts.indexOf(freshBody);
  body.before(...parts.slice(0, index));
  body.after(...parts.slice(index + 1));
  for (const rest of shown.children) if (rest !== body) alive(rest);
}

/**
 * Return what a block was made of by the frames of a running answer.
 * @param {HTMLElement | null} block
 */
function heldIn(block) {
  const html = block && came.get(block);
  return block?.dataset.revision && html !== undefined ? { revision: Number(block.dataset.revision), html: html ?? "" } : undefined;
}

/**
 * @param {HTMLElement} block
 * @param {string} html
 */
function setHtml(block, html) {
  const before = came.get(block) ?? block.innerHTML;
  came.set(block, html);
  if (before !== html) {
    const unfolded = block.querySelector("details")?.open;
    patch(block, html);
    const details = unfolded && block.querySelector("details");
    if (details) details.open = true;
    alive(block);
  }
  block.hidden = html === "";
}

/**
 * @param {Element} body
 * @param {number} index
 */
function place(body, index) {
  const block = document.createElement("div");
  block.className = "block";
  block.dataset.index = String(index);
  const later = childrenOf(body).find((other) => Number(other.dataset.index) > index);
  body.insertBefore(block, later ?? null);
  return block;
}

/**
 * @param {Element} element
 * @returns {HTMLElement[]}
 */
function childrenOf(element) {
  return [...element.children].filter((child) => child instanceof HTMLElement);
}
