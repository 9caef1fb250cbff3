// A message of one's own is said anew, where it stands: Enter sends, Esc leaves it as it was. What is written there stays
// when the list around it is another one, and over a reload.

export class Editing {
  #template;
  #list;
  #on;
  // The open forms, by the id of the message's article.
  #open = new Map();

  // longest: code points; onSend(article, text) returns whether it was taken; onKeep(article's id, text) keeps what is
  // written, "" forgets it; kept() is {article's id: text}; onGone(text) gets what belongs to no message that is shown.
  constructor(template, list, { longest, onSend, onKeep, kept, onGone }) {
    this.#template = template;
    this.#list = list;
    this.#on = { longest, send: onSend, keep: onKeep, kept, gone: onGone };
    new MutationObserver(() => this.#putBack()).observe(list, { childList: true, subtree: true });
  }

  open(article) {
    const field = this.#opened(article).elements.namedItem("text");
    field.focus();
  }

  // What was being written when the page was left.
  takeUp() {
    for (const [id, text] of Object.entries(this.#on.kept())) {
      const article = document.getElementById(id);
      if (article?.querySelector(".said")) this.#opened(article).elements.namedItem("text").value = text;
      else this.#giveBack(id, text);
    }
  }

  #opened(article) {
    const known = this.#open.get(article.id);
    if (known) return known;
    const form = this.#template.content.cloneNode(true).querySelector("form");
    const field = form.elements.namedItem("text");
    form.dataset.said = field.value = article.querySelector(".said").textContent;
    this.#open.set(article.id, form);
    put(form, article);
    const close = () => this.#close(form);
    field.addEventListener("input", () => this.#on.keep(form.closest("article").id, field.value));
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      if (!field.value.trim() || [...field.value].length > this.#on.longest) return;
      const { id } = form.closest("article");
      if (!this.#on.send(form.closest("article"), field.value)) return;
      this.#forget(id);
      close();
    });
    form.addEventListener("keydown", (event) => {
      if (event.isComposing || event.keyCode === 229) return;
      if (event.key === "Enter" && !event.shiftKey && event.target === field) {
        event.preventDefault();
        form.requestSubmit();
      } else if (event.key === "Escape") {
        // Neither the answer nor anything else is stopped by this.
        event.preventDefault();
        event.stopPropagation();
        close();
      }
    });
    form.querySelector("[data-cancel]").addEventListener("click", close);
    return form;
  }

  // The list, or a message in it, has been replaced: the same forms stand in the new ones.
  #putBack() {
    for (const [id, form] of this.#open) {
      if (form.isConnected && this.#list.contains(form)) continue;
      const article = document.getElementById(id);
      if (article?.querySelector(".said")) {
        put(form, article);
        if (document.activeElement === document.body) form.elements.namedItem("text").focus();
      } else this.#giveBack(id, form.elements.namedItem("text").value, form);
    }
  }

  #giveBack(id, text, form = null) {
    this.#forget(id);
    // What was not changed, or sent by another tab, is not lost.
    const isShown = [...this.#list.querySelectorAll(".said")].some((said) => said.textContent === text);
    if (!isShown && text !== form?.dataset.said) this.#on.gone(text);
  }

  #forget(id) {
    this.#open.delete(id);
    this.#on.keep(id, "");
  }

  #close(form) {
    const article = form.closest("article");
    if (article) this.#forget(article.id);
    form.remove();
    if (!article) return;
    article.querySelector(".message__body").hidden = false;
    delete article.dataset.editing;
    article.querySelector('[data-do="edit"]')?.focus();
  }
}

function put(form, article) {
  const body = article.querySelector(".message__body");
  body.hidden = true;
  body.after(form);
  article.dataset.editing = "";
}
