// A drop is divided into files, and folders that cannot be sent.

import assert from "node:assert/strict";
import { test } from "node:test";

import { dropped } from "../../static/js/dropped.js";

/** @param {string} name @param {boolean} isDirectory */
const item = (name, isDirectory) => ({ kind: "file", webkitGetAsEntry: () => ({ isDirectory, name }) });

test("a folder is told from files", () => {
  const items = [{ kind: "string" }, item("a.txt", false), item("Holiday", true), item("b.txt", false)];
  const given = /** @type {any} */ ({ items, files: [{ name: "a.txt" }, { name: "Holiday" }, { name: "b.txt" }] });
  const { files, folder } = dropped(given);
  assert.equal(folder, "Holiday");
  assert.deepEqual(files.map(({ name }) => name), ["a.txt", "b.txt"]);
});

test("a file that a script made has no entry", () => {
  const given = /** @type {any} */ ({ items: [{ kind: "file", webkitGetAsEntry: () => null }], files: [{ name: "a.txt" }] });
  assert.equal(dropped(given).folder, undefined);
  assert.equal(dropped(given).files.length, 1);
});
