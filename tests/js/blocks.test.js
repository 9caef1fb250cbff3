// A page that is sent what was appended to a block holds what the server had, whatever is lost, repeated or late.

import assert from "node:assert/strict";
import { test } from "node:test";

import { grown } from "../../static/js/blocks.js";

// A small generator of the same numbers each time.
function numbers(seed) {
  let state = seed;
  return (below) => {
    state = (state * 1103515245 + 12345) % 2147483648;
    return Math.floor((state / 2147483648) * below);
  };
}

function commonStart(before, after) {
  let length = 0;
  while (length < after.length && before[length] === after[length]) length += 1;
  return length;
}

// The frames of a block that grows, and its HTML by revision; the server counts UTF-16 units, as a string does.
function answer(chance) {
  const frames = [];
  const were = new Map();
  let text = "";
  let before = null;
  for (let revision = 1; revision <= 30; revision += 1) {
    text += ["<li>", "a", "🦀", "東", "</li>"][chance(5)];
    const html = `<ul>${text}</ul>`;
    were.set(revision, html);
    const keep = commonStart(before ?? "", html);
    const isWhole = before === null || chance(8) === 0;
    frames.push(isWhole ? { revision, html } : { revision, base: revision - 1, keep, html: html.slice(keep) });
    before = html;
  }
  return { frames, were };
}

test("every frame in its order makes the block", () => {
  const { frames, were } = answer(numbers(1));
  let held;
  for (const frame of frames) {
    held = grown(held, frame);
    assert.deepEqual(held, { revision: frame.revision, html: were.get(frame.revision) });
  }
});

test("lost, repeated and reordered frames never make another block than there was, and the whole mends it", () => {
  for (let seed = 1; seed <= 300; seed += 1) {
    const chance = numbers(seed);
    const { frames, were } = answer(chance);
    let held;
    for (let turn = 0; turn < 40; turn += 1) {
      const next = grown(held, frames[chance(frames.length)]);
      if (next) held = next;
      if (held) assert.equal(held.html, were.get(held.revision));
    }
    const whole = { revision: 31, html: "<ul>whole</ul>" };
    assert.deepEqual(grown(held, whole), whole);
  }
});

test("a frame that continues what is not held is missed, and an old one changes nothing", () => {
  const held = { revision: 5, html: "<p>five" };
  assert.equal(grown(held, { revision: 7, base: 6, keep: 3, html: "x" }), null);
  assert.equal(grown(undefined, { revision: 7, base: 6, keep: 3, html: "x" }), null);
  assert.equal(grown(held, { revision: 5, html: "<p>other" }), held);
  assert.equal(grown(held, { revision: 4, base: 3, keep: 3, html: "x" }), held);
  assert.deepEqual(grown(held, { revision: 6, base: 5, keep: 3, html: "six" }), { revision: 6, html: "<p>six" });
});
