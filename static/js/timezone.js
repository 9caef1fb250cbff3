// The browser's timezone, for the form that signs somebody in.
const zone = Intl.DateTimeFormat().resolvedOptions().timeZone ?? "";
for (const field of document.querySelectorAll("[data-timezone]")) {
  if (field instanceof HTMLInputElement) field.value = zone;
}
