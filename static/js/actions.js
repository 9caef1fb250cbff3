// The buttons under messages and at code blocks, with one listener for all of them.

import { copy } from "./clipboard.js";
import { alive, around, find } from "./dom.js";
import { enlarge } from "./enlarging.js";
import { rate } from "./rating.js";
import { words } from "./words.js";

// Milliseconds for which a button shows that it has succeeded.
const SHOWN_MS = 1600;

/**
 * tell(sentence) shows a failure, announce(sentence) a success; only the chat page has edit(article), again(id) and
 * show(id).
 * @typedef {object} On
 * @property {(sentence: string) => void} tell
 * @property {(sentence: string) => void} announce
 * @property {(article: HTMLElement) => void} [edit]
 * @property {(message: string) => void} [again]
 * @property {(message: string) => void} [show]
 */

/**
 * @param {HTMLElement} main
 * @param {HTMLDialogElement | null} details
 * @param {On} on
 */
export function watchActions(main, details, on) {
  /** @type {Record<string, (button: HTMLElement, article: HTMLElement) => unknown>} */
  const acts = {
    copy: (button, article) => copied(button, written(article), on),
    "copy-code": (button) => copied(button, codeAt(button), on),
    raw: (button, article) => toggleRaw(button, article, on),
    edit: (_, article) => on.edit?.(article),
    retry: (_, article) => on.again?.(article.id.replace("message-", "")),
    enlarge: (link) => enlarge(link),
    rate: (button, article) => rate(button, article, details, on),
    details: (button) => openDetails(details, button.getAttribute("href") ?? "", on),
  };
  main.addEventListener("click", (event) => {
    const button = around(event, "[data-do], [data-show]");
    if (!button || event.ctrlKey || event.metaKey || event.shiftKey) return;
    const act = acts[button.dataset.do ?? ""];
    if (!act && !button.dataset.show) return;
    event.preventDefault();
    if (act) act(button, /** @type {HTMLElement} */ (button.closest("article")));
    else on.show?.(button.dataset.show ?? "");
  });
}

/** @param {HTMLElement} button */
function codeAt(button) {
  return button.closest(".code-box")?.querySelector("code")?.textContent ?? "";
}

/**
 * Return the Markdown of a message; for an answer in several parts that of all parts.
 * @param {HTMLElement} article
 */
async function written(article) {
  if (article.dataset.role === "user") return find(article, ".said", HTMLElement).textContent ?? "";
  const answer = await fetch(`/messages/${article.id.replace("message-", "")}/raw`);
  if (!answer.ok || answer.redirected) throw new Error(answer.statusText);
  return answer.text();
}

/**
 * @param {HTMLElement} button
 * @param {string | Promise<string>} text
 * @param {On} on
 */
async function copied(button, text, on) {
  if (!(await copy(text))) {
    on.tell(words.notCopied);
    return;
  }
  const use = find(button, "use", SVGUseElement);
  const before = use.getAttribute("href") ?? "";
  if (before !== "#icon-done") {
    use.setAttribute("href", "#icon-done");
    setTimeout(() => use.setAttribute("href", before), SHOWN_MS);
  }
  on.announce(words.copied);
}

/**
 * @param {HTMLElement} button
 * @param {HTMLElement} article
 * @param {On} on
 */
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
    find(article, ":scope > .message__body", HTMLElement).after(pre);
  }
  for (const part of parts) part.toggleAttribute("data-raw", !isShown);
  button.toggleAttribute("data-on", !isShown);
  button.dataset.word ??= button.title;
  button.title = button.ariaLabel = isShown ? button.dataset.word : words.formatted;
}

// The articles of one answer, up to this one.
/** @param {HTMLElement} article */
function answerOf(article) {
  const parts = [article];
  for (;;) {
    const before = parts[0].previousElementSibling;
    if (!(before instanceof HTMLElement) || before.dataset.role !== "assistant") return parts;
    parts.unshift(before);
  }
}

/**
 * @param {HTMLDialogElement | null} dialog
 * @param {string} address
 * @param {On} on
 */
async function openDetails(dialog, address, on) {
  const answer = await fetch(address, { headers: { "HX-Request": "true" } }).catch(() => null);
  // When the sign-in has ended, the request is redirected and the response has no content for us.
  if (!answer?.ok || answer.redirected || answer.headers.has("HX-Redirect")) {
    on.tell(words.notFetched);
    return;
  }
  if (!dialog) return;
  dialog.innerHTML = await answer.text();
  alive(dialog);
  if (!dialog.open) dialog.showModal();
}
