// Edits a message of the person in its place: Enter sends, but not on a touch screen; Esc cancels. The text is kept when the list is replaced, and
// over a reload.

/** @import { Draft } from "./unsent.js" */

import { find, isComposing } from "./dom.js";
import { Pasted } from "./pasted.js";

const touch = matchMedia("(pointer: coarse) and (hover: none)");

export class Editing {
  #template;
  #list;
  #on;
  // The open forms, by the id of the message's article.
  /** @type {Map<string, HTMLFormElement>} */
  #open = new Map();
  // What was pasted into the field of each form.
  /** @type {WeakMap<HTMLFormElement, Pasted>} */
  #pasted = new WeakMap();

  // longest: code points; onSend(article, draft) returns whether the edit was accepted; onKeep(article's id, draft)
  // stores the draft, null deletes it; kept() returns drafts by the article's id; onGone(draft) gets a draft whose
  // message is not shown.
  /**
   * @param {HTMLTemplateElement} template
   * @param {HTMLElement} list
   * @param {object} options
   * @param {number} options.longest
   * @param {(article: HTMLElement, draft: Draft) => boolean} options.onSend
   * @param {(id: string, draft: Draft | null) => void} options.onKeep
   * @param {() => Record<string, Draft>} options.kept
   * @param {(draft: Draft) => void} options.onGone
   */
  constructor(template, list, { longest, onSend, onKeep, kept, onGone }) {
    this.#template = template;
    this.#list = list;
    this.#on = { longest, send: onSend, keep: onKeep, kept, gone: onGone };
    new MutationObserver(() => this.#putBack()).observe(list, { childList: true, subtree: true });
  }

  /** @param {HTMLElement} article */
  open(article) {
    fieldOf(this.#opened(article)).focus();
  }

  // Restore the drafts of when the page was left.
  takeUp() {
    for (const [id, draft] of Object.entries(this.#on.kept())) {
      const article = document.getElementById(id);
      if (article?.querySelector(".said")) this.#pasted.get(this.#opened(article))?.put(draft.text, draft.pasted);
      else this.#giveBack(id, draft);
    }
  }

  /** @param {HTMLElement} article */
  #opened(article) {
    const known = this.#open.get(article.id);
    if (known) return known;
    const form = /** @type {HTMLFormElement} */ (find(this.#template.content, "form", HTMLFormElement).cloneNode(true));
    const field = fieldOf(form);
    const said = find(article, ".said", HTMLElement);
    const pasted = new Pasted(field);
    this.#pasted.set(form, pasted);
    form.dataset.said = said.textContent ?? "";
    pasted.put(form.dataset.said, JSON.parse(said.dataset.pasted ?? "[]"));
    this.#open.set(article.id, form);
    put(form, article);
    const close = () => this.#close(form);
    const around = () => /** @type {HTMLElement} */ (form.closest("article"));
    field.addEventListener("input", () => this.#on.keep(around().id, this.#draft(form)));
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      if (!field.value.trim() || [...field.value].length > this.#on.longest) return;
      const { id } = around();
      if (!this.#on.send(around(), this.#draft(form))) return;
      this.#forget(id);
      close();
    });
    form.addEventListener("keydown", (event) => {
      if (isComposing(event)) return;
      if (event.key === "Enter" && !event.shiftKey && event.target === field && !touch.matches) {
        event.preventDefault();
        form.requestSubmit();
      } else if (event.key === "Escape") {
        // Esc must not stop the answer as well.
        event.preventDefault();
        event.stopPropagation();
        close();
      }
    });
    find(form, "[data-cancel]", HTMLButtonElement).addEventListener("click", close);
    return form;
  }

  // Put the open forms back after the list, or a message in it, was replaced.
  #putBack() {
    for (const [id, form] of this.#open) {
      if (form.isConnected && this.#list.contains(form)) continue;
      const article = document.getElementById(id);
      if (article?.querySelector(".said")) {
        put(form, article);
        if (document.activeElement === document.body) fieldOf(form).focus();
      } else this.#giveBack(id, this.#draft(form), form);
    }
  }

  /**
   * @param {HTMLFormElement} form
   * @returns {Draft}
   */
  #draft(form) {
    return { text: fieldOf(form).value, pasted: this.#pasted.get(form)?.ranges ?? [] };
  }

  /**
   * @param {string} id
   * @param {Draft} draft
   * @param {HTMLFormElement | null} form
   */
  #giveBack(id, draft, form = null) {
    const { text } = draft;
    this.#forget(id);
    // An unchanged draft, or one that another tab has sent, is not lost.
    const isShown = [...this.#list.querySelectorAll(".said")].some((said) => said.textContent === text);
    if (!isShown && text !== form?.dataset.said) this.#on.gone(draft);
  }

  /** @param {string} id */
  #forget(id) {
    this.#open.delete(id);
    this.#on.keep(id, null);
  }

  /** @param {HTMLFormElement} form */
  #close(form) {
    const article = form.closest("article");
    if (article) this.#forget(article.id);
    form.remove();
    if (!article) return;
    find(article, ".message__body", HTMLElement).hidden = false;
    delete article.dataset.editing;
    /** @type {HTMLElement | null} */
    const opener = article.querySelector('[data-do="edit"]');
    opener?.focus();
  }
}

/**
 * @param {HTMLFormElement} form
 * @param {HTMLElement} article
 */
function put(form, article) {
  const body = find(article, ".message__body", HTMLElement);
  body.hidden = true;
  body.after(form);
  article.dataset.editing = "";
}

/** @param {HTMLFormElement} form */
function fieldOf(form) {
  return find(form, "[name=text]", HTMLTextAreaElement);
}
