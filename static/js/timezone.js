// Writes the browser's timezone into the sign-in form.
const zone = Intl.DateTimeFormat().resolvedOptions().timeZone ?? "";
for (const field of document.querySelectorAll("[data-timezone]")) {
  if (field instanceof HTMLInputElement) field.value = zone;
}
