// A link that is shown once: a button copies it, where the browser lets pages do that.

const field = document.querySelector("[data-copy-from]");
const button = document.querySelector("[data-copy]");
if (field) {
  field.focus();
  field.select();
}
if (field && button && navigator.clipboard) {
  button.hidden = false;
  button.addEventListener("click", async () => {
    await navigator.clipboard.writeText(field.value);
    button.textContent = "✓";
  });
}
