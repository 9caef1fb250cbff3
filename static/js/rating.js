// The two buttons that rate an answer. A bad one is followed by a question for the reason, in the dialog of the page.

import { find } from "./dom.js";
import { words } from "./words.js";

/** @import { On } from "./actions.js" */

/**
 * Rate the answer, or take the rating back when the button is pressed already.
 * @param {HTMLElement} button
 * @param {HTMLElement} article
 * @param {HTMLDialogElement | null} dialog
 * @param {On} on
 */
export async function rate(button, article, dialog, on) {
  const address = button.getAttribute("formaction") ?? "";
  const wasPressed = button.ariaPressed === "true";
  const answer = await post(address, { value: wasPressed ? "" : button.getAttribute("value") ?? "" });
  if (!answer) {
    on.tell(words.notDone);
    return;
  }
  for (const other of article.querySelectorAll("[data-do=rate]")) {
    other.ariaPressed = String(other === button && !wasPressed);
  }
  if (!wasPressed) on.announce(words.rated);
  const question = await answer.text();
  if (!question || !dialog) return;
  dialog.innerHTML = question;
  find(dialog, "[data-close]", HTMLButtonElement).addEventListener("click", () => dialog.close());
  const form = find(dialog, "[data-reason]", HTMLFormElement);
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const reason = find(form, "[name=reason]", HTMLTextAreaElement).value;
    const isStored = await post(address, { reason });
    dialog.close();
    if (isStored) on.announce(words.rated);
    else on.tell(words.notDone);
  });
  dialog.showModal();
}

/**
 * Return the response; null when the request failed or the sign-in has ended.
 * @param {string} address
 * @param {Record<string, string>} fields
 */
async function post(address, fields) {
  const token = find(document, "#act [name=csrfmiddlewaretoken]", HTMLInputElement).value;
  const headers = { "HX-Request": "true", "X-CSRFToken": token };
  const answer = await fetch(address, { method: "POST", headers, body: new URLSearchParams(fields) }).catch(() => null);
  return answer?.ok && !answer.redirected && !answer.headers.has("HX-Redirect") ? answer : null;
}
