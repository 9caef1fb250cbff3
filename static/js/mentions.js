// What a person names in a message with a dollar sign, such as $release-notes: where it begins, and what completes it.

// A dollar sign at the beginning of a word, and the part of a name up to the caret.
const TYPED = /(?<![\p{L}\p{N}_$])\$([a-z0-9-]{0,64})$/u;

/**
 * Return the name that is being typed before the caret, with the position of its dollar sign; null without one.
 * @param {string} text
 * @param {number} caret
 * @returns {{ start: number, typed: string } | null}
 */
export function mentionAt(text, caret) {
  const found = TYPED.exec(text.slice(Math.max(0, caret - 80), caret));
  // An amount such as $100 is no name.
  if (!found || /^\d+$/.test(found[1])) return null;
  return { start: caret - found[0].length, typed: found[1] };
}

/**
 * Return `mentions` whose names have the typed part, those that begin with it first.
 * @template {{ name: string }} M
 * @param {M[]} mentions
 * @param {string} typed
 * @returns {M[]}
 */
export function matching(mentions, typed) {
  const found = mentions.filter(({ name }) => name.slice(1).includes(typed));
  return found.sort((one, other) => Number(other.name.slice(1).startsWith(typed)) - Number(one.name.slice(1).startsWith(typed)));
}
