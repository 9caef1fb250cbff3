// The slider of the page that shows memory on an earlier day: it moves the date field, and asks for the day when it is let go.

const slider = document.querySelector(".past__slider");
const day = document.querySelector('.past input[name="day"]');

if (slider instanceof HTMLInputElement && day instanceof HTMLInputElement) {
  const first = Date.parse(`${slider.dataset.first}T00:00:00Z`);
  const chosen = () => new Date(first + slider.valueAsNumber * 86_400_000).toISOString().slice(0, 10);
  slider.hidden = false;
  slider.addEventListener("input", () => {
    day.value = chosen();
    slider.setAttribute("aria-valuetext", day.value);
  });
  slider.addEventListener("change", () => slider.form?.requestSubmit());
  slider.setAttribute("aria-valuetext", day.value);
}
