// On a wide page the sidebar can be folded away: by its button, by Ctrl Shift S, and as it was left the last time.

import { keep, kept } from "./kept.js";

const sidebar = document.getElementById("sidebar");
const [fold, unfold] = ["fold", "unfold"].map((name) => document.querySelector(`[data-${name}]`));
// There it is a drawer.
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

function set(isFolded) {
  document.body.toggleAttribute("data-folded", isFolded);
  unfold.hidden = !isFolded;
}

// Whoever was in what goes, goes on at the button that brings it back.
function turn(isFolded) {
  const was = document.activeElement;
  const isLost = isFolded ? sidebar.contains(was) : was === unfold;
  set(isFolded);
  keep("folded", isFolded);
  if (isLost) (isFolded ? unfold : fold).focus();
}
