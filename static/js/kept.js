// How the page was left, kept in this browser; where it keeps nothing, the page begins as ever.

export function kept(name) {
  try {
    return JSON.parse(localStorage.getItem(`oneclaw:${name}`));
  } catch {
    return null;
  }
}

export function keep(name, value) {
  try {
    localStorage.setItem(`oneclaw:${name}`, JSON.stringify(value));
  } catch {
    // A full or forbidden store.
  }
}
