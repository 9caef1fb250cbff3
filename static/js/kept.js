// Stores the state of the page in this browser's local storage; without storage the page starts with its defaults.

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
    // Storage is full or forbidden.
  }
}
