// The page of a memory: topics choose which cards are shown, menus of cards close, and the year is copied as a picture.

import { Announcer } from "./announcer.js";
import { pictureOf, share } from "./picture.js";

const SAID_MS = 3000;

/** @param {string} topic The number of a topic; "" shows all. */
function choose(topic) {
  for (const link of document.querySelectorAll(":is(.about__topics, .about__map) [data-topic]")) {
    const isChosen = link.getAttribute("data-topic") === topic;
    if (isChosen) link.setAttribute("aria-current", "true");
    else link.removeAttribute("aria-current");
    if (isChosen && link.closest(".about__topics")) link.scrollIntoView({ block: "nearest", inline: "nearest" });
  }
  for (const card of document.querySelectorAll(".about__cards .entry[data-topic]"))
    {if (card instanceof HTMLElement) card.hidden = topic !== "" && card.dataset.topic !== topic;}
  if (topic !== "") showAll();
  for (const more of document.querySelectorAll("[data-more]"))
    {if (more instanceof HTMLElement) more.hidden = more.dataset.more !== topic;}
}

/** Show also the cards after the first ones. */
function showAll() {
  document.querySelector(".about__cards[data-short]")?.removeAttribute("data-short");
  document.querySelector("[data-all]")?.parentElement?.remove();
}

/** Show a card to which a link leads, whatever is chosen. */
function showTarget() {
  const card = location.hash.startsWith("#line-") && document.getElementById(location.hash.slice(1));
  if (!(card instanceof HTMLElement) || !card.hidden) return;
  choose("");
  card.scrollIntoView();
}

/** @param {Event} event */
function closeMenus(event) {
  for (const menu of document.querySelectorAll(".entry__menu[open]")) {
    if (event instanceof KeyboardEvent) {
      if (event.key !== "Escape") return;
      const summary = menu.querySelector("summary");
      if (menu.contains(document.activeElement)) summary?.focus();
    } else if (event.target instanceof Node && menu.contains(event.target)) continue;
    menu.removeAttribute("open");
  }
}

document.addEventListener("click", (event) => {
  closeMenus(event);
  const pressed = event.target instanceof Element ? event.target : null;
  if (pressed?.closest("[data-all]")) showAll();
  const link = pressed?.closest(":is(.about__topics, .about__map) [data-topic]");
  if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  const isChosen = link.hasAttribute("aria-current");
  choose(isChosen ? "" : (link.getAttribute("data-topic") ?? ""));
  const topics = link.closest(".about__map") && document.querySelector(".about__topics");
  if (topics) topics.scrollIntoView({ block: "nearest", behavior: "smooth" });
});
document.addEventListener("keydown", closeMenus);
window.addEventListener("hashchange", showTarget);

// The drawing comes later where the memory was just imported.
offerPicture();
document.body.addEventListener("htmx:load", offerPicture);

/** Offer to copy the year as a picture. */
function offerPicture() {
  const button = document.querySelector("[data-picture]");
  const drawing = document.querySelector(".calendar__days");
  const notice = document.querySelector("[data-picture-notice]");
  if (!(button instanceof HTMLButtonElement && drawing instanceof SVGSVGElement && notice instanceof HTMLElement)) return;
  if (!button.hidden) return;
  const announcer = new Announcer(notice);
  const words = button.textContent;
  button.hidden = false;
  button.addEventListener("click", async () => {
    const made = pictureOf(drawing, button.dataset.title ?? "", button.dataset.numbers ?? "");
    const isCopied = await share(made, "year.png");
    const said = (isCopied ? button.dataset.copied : button.dataset.saved) ?? "";
    button.textContent = said;
    announcer.say(said);
    setTimeout(() => (button.textContent = words), SAID_MS);
  });
}
