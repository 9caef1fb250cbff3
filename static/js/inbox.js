// @ts-check
// The inbox of memory by keys: J and K go to the next and the previous item, and a button's key presses it.

import "./swiping.js";

/** @returns {HTMLElement[]} */
const items = () => [...document.querySelectorAll("[data-inbox-item]")].filter((item) => item instanceof HTMLElement);

/** @returns {HTMLElement | undefined} The item that has the focus. */
const current = () => items().find((item) => item.contains(document.activeElement));

/** @param {number} step */
function go(step) {
  const all = items();
  const here = current();
  const at = here ? all.indexOf(here) + step : 0;
  all[Math.min(Math.max(at, 0), all.length - 1)]?.focus();
}

document.addEventListener("keydown", (event) => {
  const typing = event.target instanceof Element && event.target.closest("input, textarea, select, [contenteditable]");
  if (typing || event.ctrlKey || event.metaKey || event.altKey) return;
  const key = event.key.toLowerCase();
  const button = current()?.querySelector(`[data-key="${CSS.escape(key)}"]`);
  if (key === "j") go(1);
  else if (key === "k") go(-1);
  else if (button instanceof HTMLElement) button.click();
  else return;
  event.preventDefault();
});

// A line of memory links to the item about it.
const linked = location.hash && document.getElementById(location.hash.slice(1));
if (linked instanceof HTMLElement && linked.matches("[data-inbox-item]")) linked.focus();
else items()[0]?.focus({ preventScroll: true });
