// Changes a growing block only where its new HTML differs: nodes that are complete stay, with a selection in them.

// The nodes that each block was made of. The page's own may differ, for example by rendered formulas.
/** @type {WeakMap<Element, DocumentFragment>} */
const made = new WeakMap();

/**
 * Give `block` the content `html`.
 * @param {Element} block
 * @param {string} html
 */
export function patch(block, html) {
  const fresh = nodesOf(html);
  const before = made.get(block) ?? nodesOf(block.innerHTML);
  made.set(block, fresh);
  const keep = selectionIn(block);
  bring(block, before, fresh);
  keep?.();
}

/** @param {string} html */
function nodesOf(html) {
  const template = document.createElement("template");
  template.innerHTML = html;
  return template.content;
}

/**
 * Bring the children of `shown`, which was made like `before`, to those of `fresh`.
 * @param {Node & ParentNode} shown
 * @param {Node} before
 * @param {Node} fresh
 */
function bring(shown, before, fresh) {
  const nodes = [...shown.childNodes];
  const [old, next] = [[...before.childNodes], [...fresh.childNodes]];
  if (nodes.length !== old.length) {
    // The page has added something of its own.
    shown.replaceChildren(...next.map(copied));
    return;
  }
  for (const [index, node] of next.entries()) {
    const [at, was] = [nodes[index], old[index]];
    if (!at) shown.append(copied(node));
    else if (was.isEqualNode(node)) continue;
    else if (at instanceof Text && node instanceof Text) rewrite(at, node.data);
    else if (at instanceof Element && isSame(was, node)) bring(at, was, node);
    else at.replaceWith(copied(node));
  }
  for (const rest of nodes.slice(next.length)) rest.remove();
}

/** @param {Node} node */
function copied(node) {
  return document.importNode(node, true);
}

/**
 * Replace the end of a text where it differs, so that what is before it stays selected.
 * @param {Text} text
 * @param {string} data
 */
function rewrite(text, data) {
  let same = 0;
  while (same < text.length && text.data[same] === data[same]) same += 1;
  text.replaceData(same, text.length - same, data.slice(same));
}

/**
 * Return whether two nodes are the same element with other content. Anew are made a formula, an element of the
 * page's own, such as a button, and a block of code whose language has changed.
 * @param {Node} before
 * @param {Node} fresh
 */
function isSame(before, fresh) {
  if (!(fresh instanceof Element) || fresh.localName.includes("-") || fresh.matches(".math")) return false;
  return before.cloneNode().isEqualNode(fresh.cloneNode()) && languageOf(before) === languageOf(fresh);
}

/** @param {Node} node */
function languageOf(node) {
  return node instanceof Element && node.matches(".code-box") ? node.querySelector("pre")?.dataset.language : "";
}

/**
 * Return a function that selects again what is selected in `block`, where its nodes were replaced and its words are the
 * same; null when nothing is selected in it.
 * @param {Element} block
 */
function selectionIn(block) {
  const selection = getSelection();
  if (!selection || selection.isCollapsed) return null;
  const { startContainer, startOffset, endContainer, endOffset } = selection.getRangeAt(0);
  const start = lettersBefore(block, startContainer, startOffset);
  const end = lettersBefore(block, endContainer, endOffset);
  if (start === null && end === null) return null;
  const isForward = selection.anchorNode === startContainer && selection.anchorOffset === startOffset;
  const text = selection.toString();
  return () => {
    if (selection.toString() === text) return;
    const first = start === null ? { node: startContainer, offset: startOffset } : placeOf(block, start + 1, 0);
    const last = end === null ? { node: endContainer, offset: endOffset } : placeOf(block, end, 1);
    if (!first || !last) return;
    const [anchor, focus] = isForward ? [first, last] : [last, first];
    selection.setBaseAndExtent(anchor.node, anchor.offset, focus.node, focus.offset);
  };
}

/**
 * Return how many characters of a block that are no white space come before a place in it; null for one outside.
 * @param {Element} block
 * @param {Node} node
 * @param {number} offset
 */
function lettersBefore(block, node, offset) {
  if (!block.contains(node)) return null;
  const range = document.createRange();
  range.selectNodeContents(block);
  range.setEnd(node, offset);
  return range.toString().replace(/\s/g, "").length;
}

/**
 * Return the place right before (0) or after (1) such a character of a block, which are counted from 1.
 * @param {Element} block
 * @param {number} number
 * @param {0 | 1} after
 */
function placeOf(block, number, after) {
  const texts = document.createTreeWalker(block, NodeFilter.SHOW_TEXT);
  let left = number;
  for (let node = texts.nextNode(); node instanceof Text; node = texts.nextNode()) {
    for (const { index } of node.data.matchAll(/\S/g)) {
      left -= 1;
      if (!left) return { node, offset: index + after };
    }
  }
  return null;
}
