// Shows an attached image or a diagram large, in a dialog on the page; a click anywhere, or Esc, closes it.

import { find } from "./dom.js";

/** @param {HTMLElement} link the link to the image, which contains a small one, or the button around it */
export function enlarge(link) {
  const dialog = find(document, "#enlarged", HTMLDialogElement);
  const image = find(dialog, "img", HTMLImageElement);
  const small = find(link, "img", HTMLImageElement);
  image.src = link.getAttribute("href") ?? small.src;
  image.alt = small.alt;
  dialog.ariaLabel = image.alt;
  dialog.addEventListener("click", () => dialog.close(), { once: true });
  dialog.addEventListener("close", () => image.removeAttribute("src"), { once: true });
  dialog.showModal();
}
