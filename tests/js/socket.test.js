// A socket that comes back by itself: how long it waits before each attempt.

import assert from "node:assert/strict";
import { test } from "node:test";

import { Socket } from "../../static/js/socket.js";

const SILENCE_MS = 45_000;

// Waits of a page whose sockets close at once, or after they have lived for so many milliseconds, with a clock of its own.
function waits(random, lives) {
  const found = [];
  const opened = [];
  let now = 0;
  let again = null;
  const browser = {
    addEventListener() {},
    document: new EventTarget(),
    location: { href: "http://127.0.0.1/" },
    setTimeout(call, wait) {
      if (wait === SILENCE_MS) return;
      found.push(wait);
      again = call;
    },
    clearTimeout() {},
    setInterval() {},
    clearInterval() {},
    WebSocket: class extends EventTarget {
      constructor() {
        super();
        opened.push(this);
      }
    },
  };
  const before = Object.fromEntries(Object.keys(browser).map((name) => [name, globalThis[name]]));
  const { random: chance } = Math;
  const { now: clock } = Date;
  Object.assign(globalThis, browser);
  Math.random = () => random;
  Date.now = () => now;
  try {
    new Socket({ onFrame() {}, onState() {} }).connect();
    for (const life of lives) {
      const socket = opened.at(-1);
      if (life) {
        socket.dispatchEvent(new Event("open"));
        socket.dispatchEvent(Object.assign(new Event("message"), { data: "{}" }));
      }
      now += life;
      socket.dispatchEvent(Object.assign(new Event("close"), { code: 1013 }));
      again();
    }
  } finally {
    Object.assign(globalThis, before);
    Math.random = chance;
    Date.now = clock;
  }
  return found;
}

test("a reconnect waits ever longer, up to half a minute, and by chance", () => {
  assert.deepEqual(waits(0, Array(8).fill(0)), [500, 1000, 2000, 4000, 8000, 15000, 15000, 15000]);
  assert.deepEqual(waits(1, Array(8).fill(0)), [1000, 2000, 4000, 8000, 16000, 30000, 30000, 30000]);
  assert.equal(waits(0.5, [0])[0], 750);
});

test("one that speaks and is dropped at once is no reason to hurry; one that has lived is", () => {
  assert.deepEqual(waits(0, [0, 100, 100, 60_000, 100]), [500, 1000, 2000, 500, 1000]);
});
