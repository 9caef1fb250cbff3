// Folds the sidebar on a wide page, by its button or Ctrl Shift S, and restores its last state.

import { find } from "./dom.js";
import { keep, kept } from "./kept.js";

const sidebar = find(document, "#sidebar", HTMLElement);
const fold = find(document, "[data-fold]", HTMLButtonElement);
const unfold = find(document, "[data-unfold]", HTMLButtonElement);
// On a narrow page the sidebar is a drawer.
const narrow = matchMedia("(max-width: 48rem)");

export function watchFolding() {
  set(kept("folded") === true);
  fold.addEventListener("click", () => turn(true));
  unfold.addEventListener("click", () => turn(false));
  document.addEventListener("keydown", (event) => {
    if (!(event.ctrlKey || event.metaKey) || !event.shiftKey || event.key.toLowerCase() !== "s") return;
    event.preventDefault();
    if (!narrow.matches && !document.querySelector("dialog[open]")) turn(unfold.hidden);
  });
}

/** @param {boolean} isFolded */
function set(isFolded) {
  document.body.toggleAttribute("data-folded", isFolded);
  unfold.hidden = !isFolded;
}

/**
 * Fold or unfold. The focus moves from a hidden element to the button that shows it again.
 * @param {boolean} isFolded
 */
function turn(isFolded) {
  const was = document.activeElement;
  const isLost = isFolded ? sidebar.contains(was) : was === unfold;
  set(isFolded);
  keep("folded", isFolded);
  if (isLost) (isFolded ? unfold : fold).focus();
}
