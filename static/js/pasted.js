// Which parts of a text field were pasted or dropped into it, and not typed: ranges [start, end] of its text, in UTF-16
// units as the field counts, ascending. The server counts code points (inCodePoints, inUnits).

/** @typedef {[number, number]} Range */

// Ways of input by which text comes from outside of the field.
const OUTSIDE = /^insertFrom(?:Paste|Drop|Yank)/;
const UNDO = /^history/;
// Texts of a field that are remembered, for undo and redo.
const STATES_MAX_COUNT = 200;

// What was copied or cut on this page last, of any field, with what of it was pasted.
/** @type {{ text: string, ranges: Range[] } | null} */
let copied = null;

/**
 * Return the ranges after an edit that made `after` of `before`: what it inserted was typed, but for `inserted`, ranges
 * of the inserted text.
 * @param {Range[]} ranges
 * @param {string} before
 * @param {string} after
 * @param {(text: string) => Range[]} inserted
 * @param {number} [caret] where the insertion ends, if that is known
 * @returns {Range[]}
 */
export function afterEdit(ranges, before, after, inserted, caret = after.length) {
  const most = Math.min(before.length, after.length);
  let end = 0;
  const endMost = Math.min(most, after.length - caret);
  while (end < endMost && before.at(-1 - end) === after.at(-1 - end)) end += 1;
  let start = 0;
  while (start < most - end && before[start] === after[start]) start += 1;
  while (end < most - start && before.at(-1 - end) === after.at(-1 - end)) end += 1;
  const [removedTo, insertedTo] = [before.length - end, after.length - end];
  const shift = insertedTo - removedTo;
  /** @type {Range[]} */
  const kept = [];
  for (const [from, to] of ranges) {
    kept.push([from, Math.min(to, start)], [Math.max(from, removedTo) + shift, to + shift]);
  }
  const added = inserted(after.slice(start, insertedTo)).map(([from, to]) => /** @type {Range} */ ([from + start, to + start]));
  return joined([...kept, ...added]);
}

/**
 * Return `ranges` in ascending order, without empty ones, those that touch as one.
 * @param {Range[]} ranges
 * @returns {Range[]}
 */
function joined(ranges) {
  /** @type {Range[]} */
  const found = [];
  for (const [from, to] of ranges.filter((range) => range[0] < range[1]).sort((one, other) => one[0] - other[0])) {
    const last = found.at(-1);
    if (last && from <= last[1]) last[1] = Math.max(last[1], to);
    else found.push([from, to]);
  }
  return found;
}

/**
 * Return ranges of UTF-16 units of `text` as ranges of its code points.
 * @param {string} text
 * @param {Range[]} ranges
 * @returns {Range[]}
 */
export function inCodePoints(text, ranges) {
  return ranges.map(([from, to]) => [[...text.slice(0, from)].length, [...text.slice(0, to)].length]);
}

/**
 * Return ranges of code points of `text` as ranges of its UTF-16 units.
 * @param {string} text
 * @param {Range[]} ranges
 * @returns {Range[]}
 */
export function inUnits(text, ranges) {
  const points = [...text];
  return ranges.map(([from, to]) => [points.slice(0, from).join("").length, points.slice(0, to).join("").length]);
}

/**
 * Return the part of `ranges` within [start, end], counted from `start`.
 * @param {Range[]} ranges
 * @param {number} start
 * @param {number} end
 * @returns {Range[]}
 */
export function within(ranges, start, end) {
  return joined(ranges.map(([from, to]) => [Math.max(from, start) - start, Math.min(to, end) - start]));
}

// Follows what happens to one text field.
export class Pasted {
  #field;
  #text;
  /** @type {Range[]} */
  #ranges = [];
  /** @type {Map<string, Range[]>} */
  #states = new Map();

  /** @param {HTMLTextAreaElement} field */
  constructor(field) {
    this.#field = field;
    this.#text = field.value;
    // In the capture phase, so that it is known before anybody keeps the draft.
    field.addEventListener("input", (event) => this.#changed(/** @type {InputEvent} */ (event).inputType), true);
    for (const kind of ["copy", "cut"]) field.addEventListener(kind, () => this.#copied());
  }

  /** What of the present text was pasted, in code points, as the server counts. */
  get ranges() {
    this.#follow(() => []);
    return inCodePoints(this.#text, this.#ranges);
  }

  /**
   * Set the text, of which `ranges` were pasted, in code points; without them, what a script adds was typed.
   * @param {string} text
   * @param {Range[]} [ranges]
   */
  put(text, ranges) {
    this.#follow(() => []);
    this.#field.value = text;
    if (ranges) [this.#text, this.#ranges] = [this.#field.value, inUnits(text, ranges)];
    else this.#follow(() => []);
  }

  /** @param {string} inputType */
  #changed(inputType) {
    const isUndo = UNDO.test(inputType);
    const known = isUndo && this.#states.get(this.#field.value);
    if (known) {
      [this.#text, this.#ranges] = [this.#field.value, known];
      return;
    }
    // What comes back in a way that is not known is taken for pasted if anything was.
    const isDoubtful = isUndo && [...this.#states.values()].some((ranges) => ranges.length);
    const isOutside = isDoubtful || OUTSIDE.test(inputType);
    this.#follow((text) => {
      if (!isOutside) return [];
      return copied?.text === text ? copied.ranges : [[0, text.length]];
    });
  }

  /** @param {(text: string) => Range[]} inserted */
  #follow(inserted) {
    const now = this.#field.value;
    if (now === this.#text) return;
    this.#ranges = afterEdit(this.#ranges, this.#text, now, inserted, this.#field.selectionEnd);
    this.#text = now;
    this.#states.set(now, this.#ranges);
    if (this.#states.size > STATES_MAX_COUNT) this.#states.delete([...this.#states.keys()][0]);
  }

  #copied() {
    this.#follow(() => []);
    const { selectionStart, selectionEnd } = this.#field;
    const text = this.#text.slice(selectionStart, selectionEnd);
    if (text) copied = { text, ranges: within(this.#ranges, selectionStart, selectionEnd) };
  }
}
