// The list of conversations: kept fresh, organised by a menu, renamed in place, a drawer on a phone.

import { keep, kept } from "./kept.js";
import { words } from "./words.js";

const list = document.getElementById("sessions");
// Of a row, inside the drawer; and of the conversation that is open, which is there while the drawer is not.
const menus = document.querySelectorAll(".menu-popover");
// Milliseconds for which a way back is offered.
const TOAST = 10_000;
let isStale = false;

export function watchSidebar(session) {
  // The page may have taken up another id than the one that the server made for it.
  list.addEventListener("htmx:configRequest", (event) => (event.detail.parameters.current = session));
  // It comes back as long as it is, and with the title of what the page shows, whatever asks for it.
  document.body.addEventListener("htmx:configRequest", (event) => {
    if ("headMenu" in event.detail.elt.dataset) {
      event.detail.path = `/c/${session}/menu`;
      Object.assign(event.detail.parameters, { current: session, head: 1 });
    }
    if (event.detail.target !== list) return;
    Object.assign(event.detail.parameters, { current: session, listed: list.querySelectorAll("[data-listed] > li").length });
  });

  // Whoever is in the list by keyboard stays where they are when it is fetched anew.
  let focus = () => {};
  const open = new Set();
  list.addEventListener("htmx:beforeSwap", (event) => {
    open.clear();
    for (const folder of list.querySelectorAll("details[open]")) open.add(folder.dataset.folder);
    focus = focusAgain(event.detail.target);
  });
  list.addEventListener("htmx:afterSwap", () => {
    for (const folder of list.querySelectorAll("details")) folder.open ||= open.has(folder.dataset.folder);
    openCurrentFolder();
    focus();
    focus = () => {};
  });
  keepFolders();

  document.body.addEventListener("htmx:afterSettle", () => {
    list.querySelector("[data-renaming] input[name=title]")?.select();
    if (isStale) refreshSessions();
  });
  list.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || !event.target.closest("[data-renaming]")) return;
    event.preventDefault();
    isStale = false;
    reload({ pressed: true });
  });

  for (const menu of menus) menu.addEventListener("htmx:afterSwap", showMenu);
  document.body.addEventListener("htmx:beforeRequest", (event) => event.target.closest(".menu-popover")?.hidePopover());
  document.body.addEventListener("htmx:oobAfterSwap", () => {
    showToast();
    // News of the list may have taken away, before this answer came, what had the focus.
    if (document.activeElement === document.body) document.querySelector("#toast button")?.focus();
  });
  // Nobody asked for news of the list, so they take nobody from what they are writing to the sign-in: whoever is signed
  // out is told by the socket, or when they press something.
  list.addEventListener("htmx:beforeOnLoad", (event) => {
    const { xhr, requestConfig } = event.detail;
    const isNews = event.target === list && !requestConfig.triggeringEvent?.detail?.pressed;
    if (isNews && xhr.getResponseHeader("HX-Redirect")) event.preventDefault();
  });
  for (const failure of ["htmx:responseError", "htmx:sendError"]) document.body.addEventListener(failure, tellFailure);
  showToast();
  openCurrentFolder();

  // Wide again: the drawer is a part of the page.
  matchMedia("(max-width: 48rem)").addEventListener("change", () => {
    const sidebar = document.getElementById("sidebar");
    if (sidebar.matches(":popover-open")) sidebar.hidePopover();
  });
}

// What puts the focus back once `target` has been replaced: on the same link, or on the way back when what it led to is
// gone, or on what came back by that; where a way to older ones was, on the first of them.
function focusAgain(target) {
  const focused = document.activeElement;
  const undone = focused.closest("#toast")?.querySelector("[name=id]")?.value;
  if (undone) return () => list.querySelector(`#session-${undone} a`)?.focus();
  if (!list.contains(focused)) return () => {};
  if (target === list || !target.contains(focused)) {
    const href = CSS.escape(focused.getAttribute("href") ?? "");
    return () => {
      const same = list.querySelector(`a[href="${href}"]`) ?? document.querySelector("#toast button");
      same?.focus({ preventScroll: true });
    };
  }
  let before = target.previousElementSibling;
  return () => {
    while ((before = before?.nextElementSibling) && !before.querySelector("a"));
    before?.querySelector("a").focus();
  };
}

// The folders that the person opened are open when they come back.
function keepFolders() {
  const opened = new Set(kept("folders"));
  for (const folder of list.querySelectorAll("details")) folder.open = opened.has(folder.dataset.folder);
  list.addEventListener("click", (event) => {
    const folder = event.target.closest("summary")?.parentElement;
    if (!folder) return;
    if (folder.open) opened.delete(folder.dataset.folder);
    else opened.add(folder.dataset.folder);
    keep("folders", [...opened]);
  });
}

function openCurrentFolder() {
  const folder = list.querySelector(".session--current")?.closest("details");
  if (folder) folder.open = true;
}

// Beside what it is about, inside the window.
function showMenu(event) {
  const menu = event.currentTarget;
  const opener = event.detail.requestConfig.elt.getBoundingClientRect();
  menu.showPopover();
  const { width, height } = menu.getBoundingClientRect();
  menu.style.left = `${Math.max(8, Math.min(opener.left, innerWidth - width - 8))}px`;
  menu.style.top = `${Math.max(8, Math.min(opener.bottom + 4, innerHeight - height - 8))}px`;
  menu.querySelector("button, a")?.focus();
}

// What was pressed has come to nothing: the server refused it or failed, or could not be reached.
function tellFailure({ target }) {
  // Nobody pressed anything where the list is fetched anew, and search says it itself.
  if (target === list || target.closest("dialog")) return;
  const sentence = document.createElement("p");
  sentence.textContent = words.notDone;
  const toast = document.getElementById("toast");
  toast.classList.add("toast--bad");
  toast.replaceChildren(sentence);
  toast.hidden = false;
  showToast();
}

let fading = null;

// In front of everything: on a phone what it is about has just happened in the drawer.
function showToast() {
  clearTimeout(fading);
  const toast = document.getElementById("toast");
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
