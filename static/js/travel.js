// Asks people who are in another timezone than theirs, once for each, whether theirs shall change: when the page opens,
// and when it is looked at again after a journey.

import { alive, find } from "./dom.js";
import { keep, kept } from "./kept.js";

const ASKED = "timezone-asked";
const main = find(document, "#main", HTMLElement);
const slot = find(main, "[data-timezone-here]", HTMLElement);

async function look() {
  const here = Intl.DateTimeFormat().resolvedOptions().timeZone ?? "";
  const isOwn = here === main.dataset.timezone;
  if (!here || isOwn || kept(ASKED) === here) {
    // After the way home, the next journey is asked about again.
    if (isOwn && kept(ASKED)) keep(ASKED, "");
    return;
  }
  const response = await fetch(`${slot.dataset.url}?here=${encodeURIComponent(here)}`).catch(() => null);
  if (!response) return;
  keep(ASKED, here);
  if (response.status !== 200) return;
  slot.innerHTML = await response.text();
  alive(slot);
}

document.addEventListener("visibilitychange", () => void (document.hidden || look()));
void look();
