// Renders formulas. The server marks them and shows their TeX; KaTeX is loaded with the first one. A formula that it
// cannot read stays TeX.

/** @import { Katex, Node as KatexNode } from "../vendor/katex/katex.min.js" */

import { find } from "./dom.js";

// A formula must not load anything, expand without limit, or be positioned outside its box.
const OPTIONS = { throwOnError: true, strict: "ignore", trust: false, maxSize: 10, maxExpand: 500 };
const SOURCE_MAX_CHARS = 5000;
// Characters of an inline formula that fits any page.
const SHORT_MAX_CHARS = 30;
// A cache of rendered formulas: a growing block is rendered many times.
const KEPT_MAX_COUNT = 300;

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
    // KaTeX is no module and sets a global variable.
    await Promise.all([styles(), import("../vendor/katex/katex.min.js")]);
  } catch {
    // Could not be loaded: the next formula tries again.
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
    if (kept.size >= KEPT_MAX_COUNT) kept.delete(kept.keys().next().value ?? "");
    kept.set(source, made(setter, source, formula.classList.contains("math--display")));
  }
  const shown = kept.get(source);
  if (!shown) return;
  formula.classList.add("math--set");
  formula.replaceChildren(shown.cloneNode(true));
  if (source.length > SHORT_MAX_CHARS && !formula.matches(".math--display")) letScroll(formula.closest(".block"));
}

/**
 * Make a block that is too wide scrollable, also by the keyboard.
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
  if (source.length > SOURCE_MAX_CHARS) return null;
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
 * The page's Content Security Policy allows styles that a script sets, but no style attribute.
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
