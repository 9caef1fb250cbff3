// What the script says, as the page holds it in the person's language.
export const words = document.getElementById("words").dataset;
