// Shows an attached image large, in a dialog on the page; a click anywhere, or Esc, closes it.

import { find } from "./dom.js";

/** @param {HTMLElement} link the link to the image, which contains a small one */
export function enlarge(link) {
  const dialog = find(document, "#enlarged", HTMLDialogElement);
  const image = find(dialog, "img", HTMLImageElement);
  image.src = link.getAttribute("href") ?? "";
  image.alt = find(link, "img", HTMLImageElement).alt;
  dialog.ariaLabel = image.alt;
  dialog.addEventListener("click", () => dialog.close(), { once: true });
  dialog.addEventListener("close", () => image.removeAttribute("src"), { once: true });
  dialog.showModal();
}
