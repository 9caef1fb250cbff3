// The page of all conversations: one box chooses every conversation on it.

const form = document.querySelector("[data-choosing]");
if (form) {
  const all = form.querySelector("[data-all]");
  const boxes = () => [...form.querySelectorAll("input[name=id]")];
  all.hidden = false;
  all.addEventListener("change", (event) => {
    for (const box of boxes()) box.checked = event.target.checked;
  });
  form.addEventListener("change", () => {
    const chosen = boxes().filter((box) => box.checked).length;
    const box = all.querySelector("input");
    box.checked = chosen > 0 && chosen === boxes().length;
    box.indeterminate = chosen > 0 && !box.checked;
  });
}
