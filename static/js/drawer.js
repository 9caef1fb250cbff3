// On a phone the sidebar is a drawer.

export function drawer(element) {
  const opener = document.querySelector("[data-drawer-open]");
  const set = (open) => {
    document.body.classList.toggle("drawer-open", open);
    opener.setAttribute("aria-expanded", String(open));
    if (open) element.querySelector("a, button").focus();
    else opener.focus();
  };
  opener.addEventListener("click", () => set(true));
  for (const closer of document.querySelectorAll("[data-drawer-close]")) closer.addEventListener("click", () => set(false));
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && document.body.classList.contains("drawer-open")) set(false);
  });
}
