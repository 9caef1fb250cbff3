// The list of conversations: kept fresh, organised by a menu, renamed in place, a drawer on a phone.

import { around, detailOf, find } from "./dom.js";
import { keep, kept } from "./kept.js";
import { words } from "./words.js";

const list = find(document, "#sessions", HTMLElement);
// Of a row, inside the drawer; and of the conversation that is open, which is there while the drawer is not.
/** @type {NodeListOf<HTMLElement>} */
const menus = document.querySelectorAll(".menu-popover");
// Milliseconds for which a way back is offered.
const TOAST = 10_000;
let isStale = false;

/** @param {string} session */
export function watchSidebar(session) {
  // The page may have taken up another id than the one that the server made for it.
  list.addEventListener("htmx:configRequest", (event) => (detailOf(event).parameters.current = session));
  // It comes back as long as it is, and with the title of what the page shows, whatever asks for it.
  document.body.addEventListener("htmx:configRequest", (event) => {
    const detail = detailOf(event);
    if ("headMenu" in detail.elt.dataset) {
      detail.path = `/c/${session}/menu`;
      Object.assign(detail.parameters, { current: session, head: 1 });
    }
    if (detail.target !== list) return;
    Object.assign(detail.parameters, { current: session, listed: list.querySelectorAll("[data-listed] > li").length });
  });

  // Whoever is in the list by keyboard stays where they are when it is fetched anew.
  let focus = () => {};
  const open = new Set();
  list.addEventListener("htmx:beforeSwap", (event) => {
    open.clear();
    for (const folder of folders()) if (folder.open) open.add(folder.dataset.folder);
    focus = focusAgain(detailOf(event).target);
  });
  list.addEventListener("htmx:afterSwap", () => {
    for (const folder of folders()) folder.open ||= open.has(folder.dataset.folder);
    openCurrentFolder();
    focus();
    focus = () => {};
  });
  keepFolders();

  document.body.addEventListener("htmx:afterSettle", () => {
    const title = list.querySelector("[data-renaming] input[name=title]");
    if (title instanceof HTMLInputElement) title.select();
    if (isStale) refreshSessions();
  });
  list.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || !around(event, "[data-renaming]")) return;
    event.preventDefault();
    isStale = false;
    reload({ pressed: true });
  });

  for (const menu of menus) menu.addEventListener("htmx:afterSwap", showMenu);
  document.body.addEventListener("htmx:beforeRequest", (event) => around(event, ".menu-popover")?.hidePopover());
  document.body.addEventListener("htmx:oobAfterSwap", () => {
    showToast();
    // News of the list may have taken away, before this answer came, what had the focus.
    if (document.activeElement === document.body) focusOn(document.querySelector("#toast button"));
  });
  // Nobody asked for news of the list, so they take nobody from what they are writing to the sign-in: whoever is signed
  // out is told by the socket, or when they press something.
  list.addEventListener("htmx:beforeOnLoad", (event) => {
    const { xhr, requestConfig } = detailOf(event);
    const isNews = event.target === list && !requestConfig.triggeringEvent?.detail?.pressed;
    if (isNews && xhr.getResponseHeader("HX-Redirect")) event.preventDefault();
  });
  for (const failure of ["htmx:responseError", "htmx:sendError"]) document.body.addEventListener(failure, tellFailure);
  showToast();
  openCurrentFolder();

  // Wide again: the drawer is a part of the page.
  matchMedia("(max-width: 48rem)").addEventListener("change", () => {
    const sidebar = find(document, "#sidebar", HTMLElement);
    if (sidebar.matches(":popover-open")) sidebar.hidePopover();
  });
}

/**
 * Return what puts the focus back once `target` has been replaced: on the same link, or on the way back when what it led
 * to is gone, or on what came back by that; where a way to older ones was, on the first of them.
 * @param {Element} target
 * @returns {() => void}
 */
function focusAgain(target) {
  const focused = document.activeElement;
  const undone = focused?.closest("#toast")?.querySelector("[name=id]");
  if (undone instanceof HTMLInputElement) return () => focusOn(list.querySelector(`#session-${undone.value} a`));
  if (!focused || !list.contains(focused)) return () => {};
  if (target === list || !target.contains(focused)) {
    const href = CSS.escape(focused.getAttribute("href") ?? "");
    return () => {
      const same = list.querySelector(`a[href="${href}"]`) ?? document.querySelector("#toast button");
      focusOn(same, { preventScroll: true });
    };
  }
  const before = target.previousElementSibling;
  return () => {
    let after = before?.nextElementSibling;
    while (after && !after.querySelector("a")) after = after.nextElementSibling;
    focusOn(after?.querySelector("a"));
  };
}

/**
 * @param {Element | null | undefined} element
 * @param {FocusOptions} [options]
 */
function focusOn(element, options) {
  if (element instanceof HTMLElement) element.focus(options);
}

function folders() {
  return list.querySelectorAll("details");
}

// The folders that the person opened are open when they come back.
function keepFolders() {
  const opened = new Set(/** @type {(string | undefined)[] | null} */ (kept("folders")));
  for (const folder of folders()) folder.open = opened.has(folder.dataset.folder);
  list.addEventListener("click", (event) => {
    const folder = around(event, "summary")?.parentElement;
    if (!(folder instanceof HTMLDetailsElement)) return;
    if (folder.open) opened.delete(folder.dataset.folder);
    else opened.add(folder.dataset.folder);
    keep("folders", [...opened]);
  });
}

function openCurrentFolder() {
  const folder = list.querySelector("[aria-current]")?.closest("details");
  if (folder) folder.open = true;
}

// Beside what it is about, inside the window.
/** @param {Event} event */
function showMenu(event) {
  const menu = /** @type {HTMLElement} */ (event.currentTarget);
  const opener = detailOf(event).requestConfig.elt.getBoundingClientRect();
  menu.showPopover();
  const { width, height } = menu.getBoundingClientRect();
  menu.style.left = `${Math.max(8, Math.min(opener.left, innerWidth - width - 8))}px`;
  menu.style.top = `${Math.max(8, Math.min(opener.bottom + 4, innerHeight - height - 8))}px`;
  focusOn(menu.querySelector("button, a"));
}

// What was pressed has come to nothing: the server refused it or failed, or could not be reached.
/** @param {Event} event */
function tellFailure(event) {
  // Nobody pressed anything where the list is fetched anew, and search says it itself.
  if (event.target === list || around(event, "dialog")) return;
  const sentence = document.createElement("p");
  sentence.textContent = words.notDone;
  const toast = find(document, "#toast", HTMLElement);
  toast.classList.add("toast--bad");
  toast.replaceChildren(sentence);
  toast.hidden = false;
  showToast();
}

/** @type {ReturnType<typeof setTimeout> | undefined} */
let fading;

// In front of everything: on a phone what it is about has just happened in the drawer.
function showToast() {
  clearTimeout(fading);
  const toast = find(document, "#toast", HTMLElement);
  if (toast.hidden) return;
  toast.popover = "manual";
  if (!toast.matches(":popover-open")) toast.showPopover();
  fading = setTimeout(() => {
    // It stays as long as somebody is on it; where the mouse pressed last, the focus means nothing.
    if (toast.matches(":hover, :has(:focus-visible)")) return showToast();
    toast.hidden = true;
    toast.hidePopover();
  }, TOAST);
}

// Fetches the list anew, but does not take a title away that is just being written.
export function refreshSessions() {
  isStale = list.querySelector("[data-renaming]") !== null;
  if (!isStale) reload();
}

function reload(detail = {}) {
  document.body.dispatchEvent(new CustomEvent("sessions-changed", { detail }));
}
