// Formulas: the server marks them and shows their TeX; KaTeX, fetched with the first of them, sets them. What it cannot
// read stays as it is written.

/** @import { Katex, Node as KatexNode } from "../vendor/katex/katex.min.js" */

import { find } from "./dom.js";

// Nothing in a formula may load anything, grow without end or stand outside its place.
const OPTIONS = { throwOnError: true, strict: "ignore", trust: false, maxSize: 10, maxExpand: 500 };
const LONGEST = 5000;
// Characters of a formula among words that fits any page.
const SHORT = 30;
// Formulas that are kept as they were set: a block that grows shows them again and again.
const MOST_KEPT = 300;

/** @type {Map<string, HTMLElement | null>} */
const kept = new Map();
/** @type {Katex | null} */
let katex = null;
let isAskedFor = false;

/**
 * Return the text of an element as a person would read it aloud: TeX for each formula.
 * @param {Element} element
 */
export function plainText(element) {
  const copy = /** @type {Element} */ (element.cloneNode(true));
  for (const formula of copy.querySelectorAll(".math--set")) {
    formula.textContent = formula.querySelector("annotation")?.textContent ?? "";
  }
  return copy.textContent ?? "";
}

/** @param {ParentNode} root */
function setAll(root) {
  /** @type {NodeListOf<HTMLElement>} */
  const formulas = root.querySelectorAll(".prose .math:not(.math--set)");
  if (!formulas.length) return;
  if (katex) for (const formula of formulas) set(formula, katex);
  else ask();
}

async function ask() {
  if (isAskedFor) return;
  isAskedFor = true;
  try {
    // It knows no modules and leaves its name at the window.
    await Promise.all([styles(), import("../vendor/katex/katex.min.js")]);
  } catch {
    // Not reached: the next formula asks again.
    isAskedFor = false;
    return;
  }
  katex = window.katex;
  setAll(document);
}

function styles() {
  const { content } = find(document, "#math-styles", HTMLTemplateElement);
  const link = find(content, "link", HTMLLinkElement).cloneNode();
  return new Promise((resolve, reject) => {
    link.addEventListener("load", resolve);
    link.addEventListener("error", reject);
    document.head.append(link);
  });
}

/**
 * @param {HTMLElement} formula
 * @param {Katex} setter
 */
function set(formula, setter) {
  const source = formula.textContent ?? "";
  if (!kept.has(source)) {
    if (kept.size >= MOST_KEPT) kept.delete(kept.keys().next().value ?? "");
    kept.set(source, made(setter, source, formula.classList.contains("math--display")));
  }
  const shown = kept.get(source);
  if (!shown) return;
  formula.classList.add("math--set");
  formula.replaceChildren(shown.cloneNode(true));
  if (source.length > SHORT && !formula.matches(".math--display")) letScroll(formula.closest(".block"));
}

/**
 * A block that has become too wide scrolls, also by the keyboard.
 * @param {HTMLElement | null} block
 */
function letScroll(block) {
  if (block && block.scrollWidth > block.clientWidth) block.tabIndex = 0;
}

/**
 * @param {Katex} setter
 * @param {string} source
 * @param {boolean} displayMode
 */
function made(setter, source, displayMode) {
  if (source.length > LONGEST) return null;
  const width = source.startsWith("$") && !source.startsWith("$$") ? 1 : 2;
  try {
    const tree = setter.__renderToDomTree(source.slice(width, -width), { ...OPTIONS, displayMode });
    setStylesAside(tree);
    const node = tree.toNode();
    /** @type {NodeListOf<HTMLElement>} */
    const withStyles = node.querySelectorAll("[data-style]");
    for (const styled of withStyles) {
      styled.style.cssText = styled.dataset.style ?? "";
      delete styled.dataset.style;
    }
    return node;
  } catch {
    return null;
  }
}

/**
 * The page's policy takes styles from a script, but no style attribute.
 * @param {KatexNode} node
 */
function setStylesAside({ attributes, children = [] }) {
  if (attributes?.style) {
    attributes["data-style"] = attributes.style;
    delete attributes.style;
  }
  children.forEach(setStylesAside);
}

new MutationObserver((changes) => {
  for (const { target, addedNodes } of changes) if (addedNodes.length && target instanceof Element) setAll(target);
}).observe(find(document, "#main", HTMLElement), { childList: true, subtree: true });
setAll(document);
