// What was pasted into a text field is followed through every edit of it.

import assert from "node:assert/strict";
import { test } from "node:test";

import { Pasted, afterEdit, inCodePoints, inUnits, within } from "../../static/js/pasted.js";

const all = (text) => [[0, text.length]];
const none = () => [];

// A text field as far as Pasted needs one.
class Field extends EventTarget {
  value = "";
  selectionStart = 0;
  selectionEnd = 0;

  // Replace the selection by `text`, as a person does.
  input(text, inputType = "insertText") {
    const { selectionStart: from, selectionEnd: to, value } = this;
    this.become(value.slice(0, from) + text + value.slice(to), from + text.length, inputType);
  }

  become(value, caret, inputType) {
    this.value = value;
    this.selectionStart = this.selectionEnd = caret;
    this.dispatchEvent(Object.assign(new Event("input"), { inputType }));
  }

  select(from, to = from) {
    [this.selectionStart, this.selectionEnd] = [from, to];
  }

  copy(kind = "copy") {
    this.dispatchEvent(new Event(kind));
    if (kind === "cut") this.input("", "deleteByCut");
  }
}

function followed() {
  const field = new Field();
  return { field, pasted: new Pasted(field) };
}

test("what is typed is not pasted, and what is pasted or dropped is", () => {
  for (const kind of ["insertFromPaste", "insertFromDrop", "insertFromYank"]) {
    const { field, pasted } = followed();
    field.input("Look: ");
    assert.deepEqual(pasted.ranges, []);
    field.input("minutes", kind);
    field.input(" and so on");
    assert.deepEqual(pasted.ranges, [[6, 13]]);
  }
});

test("ranges move, shrink, split and vanish with edits before, in and over them", () => {
  assert.deepEqual(afterEdit([[2, 6]], "a bcde", "xx a bcde", none), [[5, 9]]);
  assert.deepEqual(afterEdit([[2, 6]], "a bcde", "a be", none), [[2, 4]]);
  assert.deepEqual(afterEdit([[2, 6]], "a bcde", "a bcxyde", none), [[2, 4], [6, 8]]);
  assert.deepEqual(afterEdit([[2, 6]], "a bcde", "a ", none), []);
  assert.deepEqual(afterEdit([[0, 2]], "ab", "abcd", all), [[0, 4]]);
  assert.deepEqual(afterEdit([[0, 2]], "aaaa", "aaaaaa", none, 2), [[2, 4]]);
});

test("a letter that is typed at the edge of pasted text is typed", () => {
  const { field, pasted } = followed();
  field.input("aaa", "insertFromPaste");
  field.input("a");
  assert.deepEqual(pasted.ranges, [[0, 3]]);
  field.select(0);
  field.input("a");
  assert.deepEqual(pasted.ranges, [[1, 4]]);
});

test("own words that are cut and pasted in the field stay typed, and pasted ones stay pasted", () => {
  const { field, pasted } = followed();
  field.input("My own words. ");
  field.input("Of others.", "insertFromPaste");
  field.select(0, 14);
  field.copy("cut");
  assert.deepEqual(pasted.ranges, [[0, 10]]);
  field.select(10);
  field.input("My own words. ", "insertFromPaste");
  assert.deepEqual(pasted.ranges, [[0, 10]]);
  field.select(5, 16);
  field.copy();
  field.select(field.value.length);
  field.input("hers.My own", "insertFromPaste");
  assert.equal(pasted.ranges.length, 2);
  assert.deepEqual(pasted.ranges[1], [24, 29]);
});

test("what undo brings back is as it was", () => {
  const { field, pasted } = followed();
  field.input("See ");
  field.input("this", "insertFromPaste");
  field.select(0, 8);
  field.input("", "deleteContentBackward");
  assert.deepEqual(pasted.ranges, []);
  field.become("See this", 8, "historyUndo");
  assert.deepEqual(pasted.ranges, [[4, 8]]);
  field.become("See thi", 7, "historyUndo");
  field.become("See that", 8, "historyRedo");
  assert.deepEqual(pasted.ranges, [[4, 8]]);
});

test("a draft comes back with its ranges, and what a script writes into the field leaves the others", () => {
  const { pasted } = followed();
  pasted.put("See this", [[4, 8]]);
  assert.deepEqual(pasted.ranges, [[4, 8]]);
  pasted.put("$skill See this");
  assert.deepEqual(pasted.ranges, [[11, 15]]);
  pasted.put("");
  assert.deepEqual(pasted.ranges, []);
});

test("the server counts code points, the field UTF-16 units", () => {
  const text = "😀 a😀b";
  assert.deepEqual(inCodePoints(text, [[3, 6]]), [[2, 4]]);
  assert.deepEqual(inUnits(text, [[2, 4]]), [[3, 6]]);
  assert.deepEqual(within([[2, 6]], 4, 9), [[0, 2]]);
});
