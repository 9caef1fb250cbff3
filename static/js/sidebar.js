// The list of conversations: refreshes it, shows its menus and toasts, and keeps focus and open folders.

import { around, detailOf, find, isComposing } from "./dom.js";
import { keep, kept } from "./kept.js";
import { words } from "./words.js";

const list = find(document, "#sessions", HTMLElement);
// The menu of a row, inside the drawer, and that of the open conversation, outside of it.
/** @type {NodeListOf<HTMLElement>} */
const menus = document.querySelectorAll(".menu-popover");
// How long a toast offers to undo.
const TOAST_MS = 10_000;
const FIRST_ERROR_STATUS = 400;
let isStale = false;
// Requests for a part of the list, such as for the field of a title.
/** @type {Set<XMLHttpRequest>} */
const partly = new Set();

/** @param {string} session */
export function watchSidebar(session) {
  // The page may have restored another conversation than the new one whose id the server chose.
  list.addEventListener("htmx:configRequest", (event) => (detailOf(event).parameters.current = session));
  // Each request for the list asks for as many rows as are shown, and names the open conversation.
  document.body.addEventListener("htmx:configRequest", (event) => {
    const detail = detailOf(event);
    if ("headMenu" in detail.elt.dataset) {
      detail.path = `/c/${session}/menu`;
      Object.assign(detail.parameters, { current: session, head: 1 });
    }
    if (detail.target !== list) return;
    Object.assign(detail.parameters, { current: session, listed: list.querySelectorAll("[data-listed] > li").length });
  });

  // Keep the keyboard focus when the list is replaced.
  let focus = () => {};
  const open = new Set();
  list.addEventListener("htmx:beforeSwap", (event) => {
    open.clear();
    for (const folder of folders()) if (folder.open) open.add(folder.dataset.folder);
    // A list that was asked for before an action and came after it has not yet what is focused: the next one has it.
    if (document.activeElement !== document.body) focus = focusAgain(detailOf(event).target);
  });
  list.addEventListener("htmx:afterSwap", () => {
    for (const folder of folders()) folder.open ||= open.has(folder.dataset.folder);
    openCurrentFolder();
    focus();
    if (document.activeElement !== document.body) focus = () => {};
  });
  keepFolders();

  document.body.addEventListener("htmx:afterSettle", () => {
    const title = list.querySelector("[data-renaming] input[name=title]");
    if (title instanceof HTMLInputElement) title.select();
    if (isStale) refreshSessions();
  });
  document.body.addEventListener("htmx:beforeSend", (event) => {
    const { target, xhr } = detailOf(event);
    if (target !== list && list.contains(target)) partly.add(xhr);
  });
  document.body.addEventListener("htmx:afterRequest", (event) => {
    if (partly.delete(detailOf(event).xhr) && isStale) refreshSessions();
  });
  // A page may show why it was refused in its own parts; the list stays.
  list.addEventListener("htmx:beforeSwap", (event) => {
    const detail = detailOf(event);
    if (detail.xhr.status >= FIRST_ERROR_STATUS) detail.shouldSwap = false;
  });
  // News that was asked for before a title is being edited may come after it.
  list.addEventListener("htmx:beforeSwap", (event) => {
    const detail = detailOf(event);
    if (!isNews(detail.requestConfig) || !isHeld()) return;
    detail.shouldSwap = false;
    isStale = true;
  });
  list.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || isComposing(event) || !around(event, "[data-renaming]")) return;
    event.preventDefault();
    isStale = false;
    reload({ pressed: true });
  });

  // htmx looks for the further parts of an answer (title, toast) in the tree of the form that was sent, and finds none of
  // them when a refresh has removed this form meanwhile.
  list.addEventListener("htmx:beforeSwap", (event) => {
    const detail = detailOf(event);
    if (event.target !== list || !detail.shouldSwap || detail.requestConfig.elt.isConnected) return;
    detail.shouldSwap = false;
    window.htmx?.swap(list, detail.serverResponse, { swapStyle: "innerHTML", swapDelay: 0, settleDelay: 0 }, { eventInfo: detail });
  });

  for (const menu of menus) menu.addEventListener("htmx:afterSwap", showMenu);
  for (const menu of menus) menu.addEventListener("toggle", unfolded, { capture: true });
  document.body.addEventListener("htmx:beforeRequest", (event) => around(event, ".menu-popover")?.hidePopover());
  document.body.addEventListener("htmx:oobAfterSwap", () => {
    showToast();
    // A refresh of the list may have removed the focused element before this response arrived.
    if (document.activeElement === document.body) focusOn(document.querySelector("#toast button"));
  });
  // An automatic refresh must not redirect to the sign-in, because the person may be writing. The socket, or the next
  // action, shows that the sign-in has ended.
  list.addEventListener("htmx:beforeOnLoad", (event) => {
    const { xhr, requestConfig } = detailOf(event);
    if (isNews(requestConfig) && xhr.getResponseHeader("HX-Redirect")) event.preventDefault();
  });
  for (const failure of ["htmx:responseError", "htmx:sendError"]) document.body.addEventListener(failure, tellFailure);
  showToast();
  openCurrentFolder();

  // On a wide page the drawer becomes a part of the page.
  matchMedia("(max-width: 48rem)").addEventListener("change", () => {
    const sidebar = find(document, "#sidebar", HTMLElement);
    if (sidebar.matches(":popover-open")) sidebar.hidePopover();
  });
}

/**
 * Return a function that restores the focus after `target` was replaced: to the same link; to the toast's button when the
 * link is gone; to the restored conversation after an undo; or to the first of the older ones after they were loaded.
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

// Store which folders are open, and restore them.
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

// Show the menu next to the button that opened it, inside the window.
/** @param {Event} event */
function showMenu(event) {
  const menu = /** @type {HTMLElement} */ (event.currentTarget);
  const opener = detailOf(event).requestConfig.elt.getBoundingClientRect();
  menu.showPopover();
  placeMenu(menu, opener.left, opener.bottom + 4);
  focusOn(menu.querySelector("button, a"));
}

/**
 * Place the menu at this point, or as near to it as it fits into the window.
 * @param {HTMLElement} menu
 * @param {number} left
 * @param {number} top
 */
function placeMenu(menu, left, top) {
  const { width, height } = menu.getBoundingClientRect();
  menu.style.left = `${Math.max(8, Math.min(left, innerWidth - width - 8))}px`;
  menu.style.top = `${Math.max(8, Math.min(top, innerHeight - height - 8))}px`;
}

// A part of the menu was unfolded: the menu is taller now, and its first field is what the person wants.
/** @param {Event} event */
function unfolded(event) {
  const menu = /** @type {HTMLElement} */ (event.currentTarget);
  const part = event.target;
  if (!(part instanceof HTMLDetailsElement)) return;
  const { left, top } = menu.getBoundingClientRect();
  placeMenu(menu, left, top);
  if (!part.open) return;
  focusOn(part.querySelector("select, input:not([type=hidden])"));
  // The window may be too low for the whole menu.
  part.scrollIntoView({ block: "end" });
}

// Show that an action failed: the server refused it, failed, or could not be reached.
/** @param {Event} event */
function tellFailure(event) {
  // A refresh of the list is no action, and the search dialog shows its own failures.
  if (event.target === list || around(event, "dialog")) return;
  tellInToast(words.notDone, { bad: true });
}

/**
 * @param {string} sentence
 * @param {{ bad?: boolean }} options
 */
export function tellInToast(sentence, { bad = false } = {}) {
  const line = document.createElement("p");
  line.textContent = sentence;
  const toast = find(document, "#toast", HTMLElement);
  toast.classList.toggle("toast--bad", bad);
  toast.replaceChildren(line);
  toast.hidden = false;
  showToast();
}

/** @type {ReturnType<typeof setTimeout> | undefined} */
let fading;

// Show the toast in front of everything, also of the drawer of a phone.
function showToast() {
  clearTimeout(fading);
  const toast = find(document, "#toast", HTMLElement);
  if (toast.hidden) return;
  toast.popover = "manual";
  if (!toast.matches(":popover-open")) toast.showPopover();
  fading = setTimeout(() => {
    // Keep it while it is hovered or has keyboard focus; a focus by mouse does not count.
    if (toast.matches(":hover, :has(:focus-visible)")) return showToast();
    toast.hidden = true;
    toast.hidePopover();
  }, TOAST_MS);
}

/**
 * Return whether a request asks for the list by itself, and not because the person pressed something.
 * @param {{ elt: Element, triggeringEvent?: CustomEvent }} request
 */
function isNews({ elt, triggeringEvent }) {
  return elt === list && !triggeringEvent?.detail?.pressed;
}

// Whether the list is not to be replaced now: a title is being edited, or a part of the list is on its way.
function isHeld() {
  return partly.size > 0 || list.querySelector("[data-renaming]") !== null;
}

// Refresh the list, or do so later when a title is being edited.
export function refreshSessions() {
  isStale = isHeld();
  if (!isStale) reload();
}

function reload(detail = {}) {
  document.body.dispatchEvent(new CustomEvent("sessions-changed", { detail }));
}
