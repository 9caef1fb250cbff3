// What a page has of a growing block, and what a frame makes of it.

/** @import { BlockFrame } from "./frames.js" */

/**
 * A block's HTML as it came with a revision.
 * @typedef {{ revision: number, html: string }} HeldBlock
 */

/**
 * Return the block that a frame makes of the one that is held: the same when the frame is not newer, and null when the
 * frame continues a revision that is not held, so that the whole must be asked for.
 * @param {HeldBlock | undefined} held
 * @param {Pick<BlockFrame, "revision" | "base" | "keep" | "html">} frame
 * @returns {HeldBlock | null}
 */
export function grown(held, { revision, base, keep, html }) {
  if (held && held.revision >= revision) return held;
  if (base === undefined) return { revision, html };
  if (held?.revision !== base) return null;
  return { revision, html: held.html.slice(0, keep) + html };
}
