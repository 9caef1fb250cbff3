// Where one writes: Enter sends, Shift+Enter breaks the line, Esc stops.

export class Composer {
  constructor(form, { longest, onSend, onStop, onDraft }) {
    this.form = form;
    this.longest = longest;
    this.onDraft = onDraft;
    this.text = form.elements.namedItem("text");
    this.send = form.querySelector("[data-send]");
    this.stop = form.querySelector("[data-stop]");
    this.count = form.querySelector("[data-count]");
    this.errorLine = form.querySelector("[data-error]");
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.#submit(onSend);
    });
    this.text.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" || event.shiftKey || event.isComposing || event.keyCode === 229) return;
      event.preventDefault();
      this.#submit(onSend);
    });
    this.text.addEventListener("input", () => this.#changed());
    this.stop.addEventListener("click", () => {
      onStop();
      this.text.focus();
    });
    document.addEventListener("keydown", (event) => {
      if (event.key === "Escape" && !this.stop.hidden && !document.body.classList.contains("drawer-open")) onStop();
    });
  }

  get value() {
    return this.text.value;
  }

  set value(text) {
    this.text.value = text;
    this.#changed();
  }

  focus() {
    this.text.focus();
  }

  setRunning(running) {
    this.send.hidden = running;
    this.stop.hidden = !running;
  }

  showError(sentence) {
    this.errorLine.textContent = sentence;
    this.errorLine.hidden = !sentence;
  }

  #submit(onSend) {
    const text = this.text.value;
    if (!text.trim() || !this.stop.hidden) return;
    const length = this.#length();
    if (length > this.longest) {
      this.showError(`The message has ${length.toLocaleString("en")} characters; at most ${this.longest.toLocaleString("en")} can be sent at once.`);
      return;
    }
    this.showError("");
    this.value = "";
    onSend(text);
    this.text.focus();
  }

  // Unicode code points with line ends as \n: the server counts the same.
  #length() {
    return [...this.text.value].length;
  }

  #changed() {
    if (!CSS.supports("field-sizing", "content")) {
      this.text.style.height = "auto";
      this.text.style.height = `${this.text.scrollHeight}px`;
    }
    const length = this.text.value.length > this.longest * 0.8 ? this.#length() : 0;
    this.count.hidden = length <= this.longest * 0.8;
    this.count.textContent = `${length.toLocaleString()} / ${this.longest.toLocaleString()}`;
    this.onDraft(this.text.value);
  }
}
