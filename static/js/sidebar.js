// The list of conversations: kept fresh, renamed in place, deleted after a question, a drawer on a phone.

const list = document.getElementById("sessions");
const dialog = document.getElementById("dialog");
let isStale = false;

export function watchSidebar(session) {
  // The page may have taken up another id than the one that the server made for it.
  list.addEventListener("htmx:configRequest", (event) => (event.detail.parameters.current = session));

  // Whoever is in the list by keyboard stays where they are when it is fetched anew.
  let focused = null;
  list.addEventListener("htmx:beforeSwap", () => {
    focused = list.contains(document.activeElement) ? document.activeElement.getAttribute("href") : null;
  });
  list.addEventListener("htmx:afterSwap", () => {
    if (focused) list.querySelector(`a[href="${CSS.escape(focused)}"]`)?.focus();
    focused = null;
  });

  document.body.addEventListener("htmx:afterSettle", () => {
    list.querySelector("[data-renaming] input[name=title]")?.select();
    if (isStale) refreshSessions();
  });
  list.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || !event.target.closest("[data-renaming]")) return;
    event.preventDefault();
    isStale = false;
    reload();
  });

  dialog.addEventListener("htmx:afterSwap", () => dialog.showModal());
  dialog.addEventListener("click", (event) => event.target === dialog && dialog.close());

  // Wide again: the drawer is a part of the page.
  matchMedia("(max-width: 48rem)").addEventListener("change", () => {
    const sidebar = document.getElementById("sidebar");
    if (sidebar.matches(":popover-open")) sidebar.hidePopover();
  });
}

// Fetches the list anew, but does not take a title away that is just being written.
export function refreshSessions() {
  isStale = list.querySelector("[data-renaming]") !== null;
  if (!isStale) reload();
}

function reload() {
  document.body.dispatchEvent(new Event("sessions-changed"));
}
