// Functions to find elements that a page must have. They throw when a template lacks what its script needs.

/**
 * Return the element, which must be there and of this type.
 * @template {Element} Type
 * @param {ParentNode} root
 * @param {string} selector
 * @param {new () => Type} type
 * @returns {Type}
 */
export function find(root, selector, type) {
  const found = root.querySelector(selector);
  if (found instanceof type) return found;
  throw new TypeError(`The page lacks ${selector}.`);
}

/**
 * Return the element at which an event happened, or the nearest one around it that matches; null when there is none.
 * @param {Event} event
 * @param {string} selector
 * @returns {HTMLElement | null}
 */
export function around(event, selector) {
  return event.target instanceof Element ? event.target.closest(selector) : null;
}

/**
 * Return the detail of a custom event, of htmx or of our own.
 * @param {Event} event
 * @returns {any}
 */
export function detailOf(event) {
  return event instanceof CustomEvent ? event.detail : {};
}

/**
 * Return whether an input method has the key: Enter then chooses a word. Safari says so by the code 229 alone.
 * @param {KeyboardEvent} event
 */
export function isComposing(event) {
  return event.isComposing || event.keyCode === 229;
}

/**
 * Have htmx process HTML that was added later, such as the forms in cards and the lines under answers.
 * @param {Element} element
 */
export function alive(element) {
  if (element.querySelector("[hx-get], [hx-post]")) window.htmx?.process(element);
}
