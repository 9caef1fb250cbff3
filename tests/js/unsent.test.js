// What a person wrote is kept as long as the page, where the browser's store is full or forbidden.

import assert from "node:assert/strict";
import { test } from "node:test";

import { Unsent } from "../../static/js/unsent.js";

function full() {
  throw new DOMException("It is full.", "QuotaExceededError");
}

const STORES = {
  forbidden: { get: full, configurable: true },
  full: { value: { getItem: () => null, removeItem() {}, setItem: full }, configurable: true },
};

for (const [how, store] of Object.entries(STORES)) {
  test(`what a ${how} store does not take is kept as long as the page`, () => {
    for (const name of ["localStorage", "sessionStorage"]) Object.defineProperty(globalThis, name, store);
    const unsent = new Unsent("7");
    unsent.add({ client_id: "a", session: "s", text: "One" }, false);
    unsent.add({ client_id: "b", session: "s", text: "Two" }, false);
    unsent.remove("a");
    unsent.keepDraft("s", "A draft", [[2, 7]]);
    assert.deepEqual(unsent.of("s").map(({ message }) => message.text), ["Two"]);
    assert.deepEqual(unsent.draft("s"), { text: "A draft", pasted: [[2, 7]] });
  });
}
