// How the page was left, kept in this browser; where it keeps nothing, the page begins as ever.

/**
 * @param {string} name
 * @returns {unknown}
 */
export function kept(name) {
  try {
    return JSON.parse(localStorage.getItem(`oneclaw:${name}`) ?? "null");
  } catch {
    return null;
  }
}

/**
 * @param {string} name
 * @param {unknown} value
 */
export function keep(name, value) {
  try {
    localStorage.setItem(`oneclaw:${name}`, JSON.stringify(value));
  } catch {
    // A full or forbidden store.
  }
}
