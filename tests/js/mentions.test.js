import assert from "node:assert/strict";
import { test } from "node:test";

import { matching, mentionAt } from "../../static/js/mentions.js";

test("a dollar sign at the beginning of a word begins a name", () => {
  assert.deepEqual(mentionAt("$", 1), { start: 0, typed: "" });
  assert.deepEqual(mentionAt("Please $rel", 11), { start: 7, typed: "rel" });
  assert.deepEqual(mentionAt("Please ($release-no and more", 19), { start: 8, typed: "release-no" });
});

test("amounts, variables inside of words, and what lies behind the caret are no names", () => {
  for (const text of ["$100", "US$", "a$b", "$$x", "$Name", "$rel "]) assert.equal(mentionAt(text, text.length), null, text);
  assert.equal(mentionAt("see $rel", 4), null);
});

test("names that begin with what was typed come first", () => {
  const names = ["$my-notes", "$notes", "$other"].map((name) => ({ name }));
  assert.deepEqual(matching(names, "notes").map(({ name }) => name), ["$notes", "$my-notes"]);
  assert.deepEqual(matching(names, "x"), []);
});
