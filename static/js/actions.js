// The row under a message, and the button at a piece of code: one listener for all of them.

import { copy } from "./clipboard.js";
import { words } from "./words.js";

// Milliseconds for which a button says that it has done its work.
const SHOWN = 1600;

// tell(sentence) says what was not possible, announce(sentence) what was; edit(article), again(id)
// and show(id) are the chat's.
export function watchActions(main, details, on) {
  const acts = {
    copy: (button, article) => copied(button, written(article), on),
    "copy-code": (button) => copied(button, button.closest(".code-box").querySelector("code").textContent, on),
    raw: (button, article) => toggleRaw(button, article, on),
    edit: (button, article) => on.edit(article),
    retry: (button, article) => on.again(article.id.replace("message-", "")),
    details: (button) => openDetails(details, button.getAttribute("href"), on),
  };
  main.addEventListener("click", (event) => {
    const button = event.target.closest("[data-do], [data-show]");
    if (!button || event.ctrlKey || event.metaKey || event.shiftKey) return;
    const act = acts[button.dataset.do];
    if (!act && !button.dataset.show) return;
    event.preventDefault();
    if (act) act(button, button.closest("article"));
    else on.show(button.dataset.show);
  });
}

// The Markdown of a message; of an answer in several parts all of it.
async function written(article) {
  if (article.dataset.role === "user") return article.querySelector(".said").textContent;
  const answer = await fetch(`/messages/${article.id.replace("message-", "")}/raw`);
  if (!answer.ok || answer.redirected) throw new Error(answer.statusText);
  return answer.text();
}

async function copied(button, text, on) {
  if (!(await copy(text))) {
    on.tell(words.notCopied);
    return;
  }
  const use = button.querySelector("use");
  const before = use.getAttribute("href");
  if (before !== "#icon-done") {
    use.setAttribute("href", "#icon-done");
    setTimeout(() => use.setAttribute("href", before), SHOWN);
  }
  on.announce(words.copied);
}

async function toggleRaw(button, article, on) {
  const parts = answerOf(article);
  const isShown = article.querySelector(":scope > .written");
  if (isShown) isShown.remove();
  else {
    const text = await written(article).catch(() => null);
    if (text === null) {
      on.tell(words.notFetched);
      return;
    }
    const pre = document.createElement("pre");
    pre.className = "written";
    pre.tabIndex = 0;
    pre.dir = "auto";
    pre.textContent = text;
    article.querySelector(":scope > .message__body").after(pre);
  }
  for (const part of parts) part.toggleAttribute("data-raw", !isShown);
  button.toggleAttribute("data-on", !isShown);
  button.dataset.word ??= button.title;
  button.title = button.ariaLabel = isShown ? button.dataset.word : words.formatted;
}

// The articles of one answer, up to this one.
function answerOf(article) {
  const parts = [article];
  while (parts[0].previousElementSibling?.dataset.role === "assistant") parts.unshift(parts[0].previousElementSibling);
  return parts;
}

async function openDetails(dialog, address, on) {
  const answer = await fetch(address, { headers: { "HX-Request": "true" } }).catch(() => null);
  // Where the sign-in has ended, the answer leads elsewhere and holds nothing.
  if (!answer?.ok || answer.redirected || answer.headers.has("HX-Redirect")) {
    on.tell(words.notFetched);
    return;
  }
  dialog.innerHTML = await answer.text();
  if (!dialog.open) dialog.showModal();
}
