// A message of one's own is said anew, where it stands: Enter sends, Esc leaves it as it was.

export class Editing {
  #template;
  #on;

  // longest: code points; onSend(article, text) returns whether it was taken.
  constructor(template, { longest, onSend }) {
    this.#template = template;
    this.#on = { longest, send: onSend };
  }

  open(article) {
    if (article.querySelector(".editing")) return;
    const body = article.querySelector(".message__body");
    const form = this.#template.content.cloneNode(true).querySelector("form");
    const field = form.elements.namedItem("text");
    const said = article.querySelector(".said").textContent;
    field.value = said;
    body.hidden = true;
    body.after(form);
    article.dataset.editing = "";
    field.focus();
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      if (!field.value.trim() || [...field.value].length > this.#on.longest) return;
      if (this.#on.send(article, field.value)) close(article);
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
        close(article);
      }
    });
    form.querySelector("[data-cancel]").addEventListener("click", () => close(article));
  }
}

function close(article) {
  article.querySelector(".editing")?.remove();
  article.querySelector(".message__body").hidden = false;
  delete article.dataset.editing;
  article.querySelector('[data-do="edit"]')?.focus();
}
