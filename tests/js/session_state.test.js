// The table of a conversation's page: what each event makes of the state, and what the page is asked to do.

import assert from "node:assert/strict";
import { test } from "node:test";

import { initialState, transition } from "../../static/js/session_state.js";

const NOTHING_SHOWN = {
  isRunning: false,
  runningId: null,
  isSocketOpen: true,
  isLast: () => true,
  seqOf: () => 0,
  isKept: () => true,
  kept: () => [],
};

// A page in the middle of its life: `does(event)` returns the effects of a transition.
class Story {
  constructor({ isNew = false, ...shown } = {}) {
    this.state = initialState("s", isNew);
    this.shown = { ...NOTHING_SHOWN, ...shown };
  }

  // A story of a page whose session the server has opened.
  static ready(options) {
    const story = new Story(options);
    story.does({ type: "socketOpened" });
    story.does({ type: "ready", reset: false, seq: 0 });
    return story;
  }

  does(event, shown = {}) {
    Object.assign(this.shown, shown);
    const { state, effects } = transition(this.state, event, this.shown);
    this.state = state;
    return effects;
  }

  // What is said to the server, each as its type and what it is about.
  says(event, shown) {
    return said(this.does(event, shown));
  }

  get stages() {
    return [...this.state.pending].map(([id, { stage }]) => `${id} ${stage}`);
  }
}

function said(effects) {
  const frames = effects.filter((effect) => effect.do === "say").map(({ frame }) => frame);
  return frames.map((frame) => [frame.type, frame.client_id ?? frame.message].join(" "));
}

function names(effects) {
  return effects.map((effect) => [effect.do, effect.timer ?? effect.kind].filter(Boolean).join(" "));
}

function message(client_id, more = {}) {
  return { client_id, session: "s", text: `Text of ${client_id}`, files: [], ...more };
}

const send = (client_id, more) => ({ type: "send", message: message(client_id, more) });
const ack = (client_id) => ({ type: "ack", client_id, message: "7", seq: 1, duplicate: false });
const refused = (client_id, code) => ({ type: "error", code, text: "No.", client_id });

test("a transition leaves the state before it as it was", () => {
  const before = initialState("s", true);
  const { state } = transition(before, send("a"), NOTHING_SHOWN);
  assert.deepEqual(before, initialState("s", true));
  assert.equal(state.pending.size, 1);
});

test("a message is kept, said, and confirmed when it is acknowledged", () => {
  const story = Story.ready();
  const files = [{ id: "f", name: "cat.png", size: 1, kind: "image" }];
  const effects = story.does(send("a", { files, mode: "chat", model: "great", effort: "low", memory: "own" }));
  assert.deepEqual(names(effects), ["keep", "scrollToEnd", "say"]);
  assert.deepEqual(effects.at(-1).frame, {
    type: "send",
    client_id: "a",
    session: "s",
    text: "Text of a",
    mode: "chat",
    agent: undefined,
    space: undefined,
    pasted: undefined,
    model: "great",
    effort: "low",
    memory: "own",
    files: ["f"],
  });
  assert.deepEqual(story.stages, ["a said"]);
  const confirmed = story.does(ack("a"));
  assert.deepEqual(confirmed.slice(0, 2), [
    { do: "forget", client_id: "a" },
    { do: "confirm", client_id: "a", message: "7", seq: 1 },
  ]);
  assert.deepEqual(story.stages, []);
});

test("the first acknowledgement makes a new conversation known, once", () => {
  const story = Story.ready({ isNew: true });
  assert.equal(story.does(send("a"))[0].isNew, true);
  assert.ok(names(story.does(ack("a"))).includes("becomeKnown"));
  assert.equal(story.does(send("b"))[0].isNew, false);
  assert.ok(!names(story.does(ack("b"))).includes("becomeKnown"));
});

test("what is written while an answer runs is queued, and leaves one by one in its order", () => {
  const story = Story.ready();
  assert.deepEqual(story.says(send("a"), { isRunning: true }), []);
  assert.deepEqual(story.says(send("b")), []);
  assert.deepEqual(story.stages, ["a queued", "b queued"]);
  assert.deepEqual(story.says({ type: "done", final: false }), []);
  assert.deepEqual(story.says({ type: "done", final: true }, { isRunning: false }), ["send a"]);
  // The next one waits for the acknowledgement, and then for the answer.
  assert.deepEqual(story.says({ type: "done", final: true }), []);
  assert.deepEqual(story.says(ack("a"), { isRunning: true }), []);
  assert.deepEqual(story.says({ type: "done", final: true }, { isRunning: false }), ["send b"]);
});

test("nothing overtakes a message that is not acknowledged yet", () => {
  const story = Story.ready();
  story.does(send("a"));
  const effects = story.does(send("b"));
  assert.deepEqual(said(effects), []);
  assert.ok(names(effects).includes("start sendQueued"));
  assert.deepEqual(story.stages, ["a said", "b queued"]);
  // The end of an answer that this page did not see running is not told to it.
  assert.deepEqual(story.says({ type: "sendQueued" }), []);
  story.does(ack("a"));
  assert.deepEqual(story.says({ type: "sendQueued" }), ["send b"]);
});

test("a message that finds an answer running waits for its end", () => {
  const story = Story.ready();
  story.does(send("a"));
  const effects = story.does(refused("a", "busy"));
  assert.deepEqual(story.stages, ["a queued"]);
  assert.ok(names(effects).includes("start sendQueued"));
  assert.ok(names(story.does({ type: "message", lacksNews: false }, { isRunning: true })).includes("cancel sendQueued"));
  assert.deepEqual(story.says({ type: "done", final: true }, { isRunning: false }), ["send a"]);
});

test("a queued message that was taken back in another tab is not sent", () => {
  const story = Story.ready();
  story.does(send("a"), { isRunning: true });
  story.does(send("b"));
  const isKept = (client_id) => client_id !== "a";
  assert.deepEqual(story.says({ type: "done", final: true }, { isRunning: false, isKept }), ["send b"]);
  assert.deepEqual(story.stages, ["b said"]);
});

test("what is written without a connection is said when the session is open again, one at a time", () => {
  const story = new Story({ isSocketOpen: false });
  assert.deepEqual(story.says(send("a")), []);
  assert.deepEqual(story.says(send("b")), []);
  assert.deepEqual(story.stages, ["a said", "b queued"]);
  assert.deepEqual(story.says({ type: "socketOpened" }, { isSocketOpen: true }), []);
  // What another tab left in this browser comes after it.
  const kept = () => [{ message: message("b"), refused: "" }, { message: message("c"), refused: "" }, { message: message("d"), refused: "No." }];
  assert.deepEqual(story.says({ type: "ready", reset: false, seq: 0 }, { kept }), ["send a"]);
  assert.deepEqual(story.stages, ["a said", "b queued", "c queued", "d refused"]);
});

test("a lost acknowledgement makes the same message be said again", () => {
  const story = Story.ready();
  const [first] = story.does(send("a")).slice(-1);
  story.does({ type: "socketClosed" });
  story.does({ type: "socketOpened" });
  const again = story.does({ type: "ready", reset: false, seq: 0 }).find((effect) => effect.do === "say");
  assert.deepEqual(again, first);
});

test("a short gap is not told, a longer one is, until the line is back", () => {
  const story = Story.ready();
  const gap = story.does({ type: "socketClosed" });
  assert.deepEqual(names(gap), ["start connectionLost"]);
  assert.equal(story.state.isLost, false);
  story.does({ type: "connectionLost" });
  assert.equal(story.state.isLost, true);
  assert.ok(names(story.does({ type: "socketOpened" })).includes("cancel connectionLost"));
  assert.equal(story.state.isLost, false);
});

test("after two sockets in vain frames go by plain requests, until a socket opens the session", () => {
  const story = new Story({ isSocketOpen: false });
  assert.ok(!names(story.does({ type: "socketClosed" })).includes("startPolling"));
  assert.ok(names(story.does({ type: "socketClosed" })).includes("startPolling"));
  assert.ok(!names(story.does({ type: "socketClosed" })).includes("startPolling"));
  story.does({ type: "polled", works: true });
  // While requests come through, nothing is lost.
  assert.deepEqual(names(story.does({ type: "socketClosed" })), ["cancel connectionLost"]);
  assert.deepEqual(story.says(send("a")), ["send a"]);
  story.does({ type: "polled", works: false });
  assert.equal(story.state.isLost, true);
  assert.deepEqual(story.says({ type: "pollingBack" }), ["send a"]);
  story.does({ type: "socketOpened" }, { isSocketOpen: true });
  const ready = story.does({ type: "ready", reset: false, seq: 0 });
  assert.ok(names(ready).includes("stopPolling"));
  assert.deepEqual([story.state.isPolling, story.state.failures], [false, 0]);
});

test("a socket that is open is not enough: the server must have opened the session", () => {
  const story = new Story();
  assert.deepEqual(names(story.does({ type: "socketOpened" })), ["cancel connectionLost", "open"]);
  assert.deepEqual(story.says(send("a")), []);
  assert.deepEqual(story.says({ type: "ready", reset: false, seq: 0 }), ["send a"]);
  for (const type of ["socketOpened", "socketClosed", "signedOut"]) {
    const ready = Story.ready();
    ready.does({ type });
    assert.deepEqual(ready.says(send("a")), [], type);
  }
});

test("what is queued goes first when the session is opened again, but for what another tab took back or delivered", () => {
  const story = Story.ready({ isRunning: true });
  for (const id of ["a", "b", "c"]) story.does(send(id));
  const isKept = (client_id) => client_id !== "a";
  const effects = story.does({ type: "ready", reset: false, seq: 0 }, { isRunning: false, isKept });
  assert.deepEqual(said(effects), ["send b"]);
  assert.deepEqual(story.stages, ["b said", "c queued"]);
  // What was told of the line is not true any more.
  assert.ok(names(effects).includes("hush running"));
  assert.ok(names(effects).includes("hush again"));
});

test("whatever changes what is shown makes the page show whether an answer runs", () => {
  const events = [
    { type: "ready", reset: false, seq: 0 },
    { type: "message", lacksNews: false },
    { type: "stored", isTaken: true },
    { type: "found", kept: [] },
    { type: "done", final: false },
    ack("a"),
    refused("a", "busy"),
  ];
  for (const event of events) assert.ok(names(Story.ready().does(event)).includes("showRunning"), event.type);
});

test("the end of a turn tells the server what was read", () => {
  assert.ok(!names(Story.ready().does({ type: "done", final: false })).includes("tellRead"));
  assert.ok(names(Story.ready().does({ type: "done", final: true })).includes("tellRead"));
});

test("who is signed out is told, and nothing is said any more", () => {
  const story = Story.ready();
  assert.ok(names(story.does({ type: "signedOut" })).includes("leaveSignedOut"));
  assert.deepEqual(story.says(send("a")), []);
});

test("a list that is out of date is taken once, and the session is opened anew", () => {
  const story = Story.ready();
  assert.deepEqual(names(story.does({ type: "ready", reset: true })), ["takeStored"]);
  assert.deepEqual(names(story.does({ type: "ready", reset: true })), []);
  assert.deepEqual(story.says(send("a")), []);
  assert.ok(names(story.does({ type: "stored", isTaken: true })).includes("open"));
  assert.deepEqual(story.says({ type: "ready", reset: false, seq: 0 }), ["send a"]);
  assert.deepEqual(names(story.does({ type: "ready", reset: true })), ["takeStored"]);
});

test("a server in trouble is asked for the list after a pause", () => {
  const story = Story.ready();
  story.does({ type: "ready", reset: true });
  const effects = names(story.does({ type: "stored", isTaken: false }));
  assert.ok(effects.includes("start openAgain"));
  assert.ok(!effects.includes("open"));
  assert.deepEqual(names(story.does({ type: "openAgain" })), ["open"]);
});

test("a message that lacks one before it makes the list be taken, only while the session is followed", () => {
  const lacking = { type: "message", lacksNews: true };
  assert.ok(!names(new Story().does(lacking)).includes("takeStored"));
  assert.ok(names(Story.ready().does(lacking)).includes("takeStored"));
});

test("a page out of the browser's memory takes the list, unless only this browser knows the conversation", () => {
  assert.deepEqual(names(Story.ready().does({ type: "restored" })), ["takeStored"]);
  assert.deepEqual(names(Story.ready({ isNew: true }).does({ type: "restored" })), []);
});

test("stop names a message of its turn, and is said again when it was not heard", () => {
  const story = Story.ready({ isRunning: true, runningId: "9" });
  assert.deepEqual(story.says({ type: "stop" }), ["stop 9"]);
  story.does({ type: "socketClosed" });
  const unheard = story.does({ type: "stop" }, { isSocketOpen: false });
  assert.deepEqual(unheard, [{ do: "tell", word: "notSent", kind: "running" }]);
  story.does({ type: "socketOpened" }, { isSocketOpen: true });
  assert.deepEqual(story.says({ type: "ready", reset: false, seq: 0 }), ["stop 9"]);
  story.does({ type: "done", final: true }, { isRunning: false });
  assert.equal(story.state.stopping, null);
});

test("a version that could not be asked for is asked for later, once", () => {
  const story = new Story({ isSocketOpen: false });
  assert.deepEqual(names(story.does({ type: "show", message: "4" })), ["tell again"]);
  story.does({ type: "socketOpened" }, { isSocketOpen: true });
  assert.deepEqual(story.says({ type: "ready", reset: false, seq: 0 }), ["show 4"]);
  assert.deepEqual(story.says({ type: "ready", reset: false, seq: 0 }), []);
});

test("an answer that is tried again is said again until something follows it", () => {
  const wanted = { type: "retry", message: "5", model: "great" };
  const story = Story.ready({ seqOf: () => 2 });
  assert.deepEqual(story.does({ type: "again", wanted }), [
    { do: "allowAgain", message: "5", isAllowed: false },
    { do: "say", frame: wanted },
  ]);
  assert.deepEqual(story.says({ type: "ready", reset: false, seq: 2 }), ["retry 5"]);
  // Something followed, perhaps by that press: news are awaited before it is said once more.
  const followed = story.does({ type: "ready", reset: false, seq: 3 });
  assert.deepEqual(said(followed), []);
  assert.ok(names(followed).includes("start sayWanted"));
  const news = story.does({ type: "message", lacksNews: false }, { isLast: () => false });
  assert.deepEqual(news.filter((effect) => effect.do === "allowAgain"), [{ do: "allowAgain", message: "5", isAllowed: true }]);
  assert.ok(names(news).includes("hush again"));
  assert.deepEqual(story.says({ type: "sayWanted" }), []);
});

test("an answer that cannot be tried again is said no more, and can be tried anew", () => {
  const story = Story.ready();
  story.does({ type: "again", wanted: { type: "retry", message: "5" } });
  const effects = story.does({ type: "error", code: "not_found", text: "No." });
  assert.deepEqual(effects[2], { do: "allowAgain", message: "5", isAllowed: true });
  assert.deepEqual(story.says({ type: "sayWanted" }), []);
});

test("a refused message keeps its sentence, is not sent again, and lets others pass", () => {
  const story = Story.ready();
  story.does(send("a"));
  assert.deepEqual(story.does(refused("a", "too_long"))[0], { do: "keepRefusal", client_id: "a", text: "No." });
  assert.deepEqual(story.state.pending.get("a").refusal, "No.");
  assert.deepEqual(story.says(send("b")), ["send b"]);
  assert.deepEqual(story.stages, ["a refused", "b said"]);
  // What comes late about it changes nothing.
  story.does(refused("a", "busy"));
  assert.deepEqual(story.stages, ["a refused", "b said"]);
});

test("a message whose conversation is gone is kept for a new one", () => {
  const story = Story.ready();
  story.does(send("a"));
  assert.deepEqual(names(story.does(refused("a", "not_found"))).slice(0, 1), ["keepHomeless"]);
});

test("what a first message chose and is not offered can be chosen anew", () => {
  const story = Story.ready({ isNew: true });
  story.does(send("a"));
  assert.ok(names(story.does(refused("a", "not_offered"))).includes("chooseAnew"));
  assert.ok(!names(Story.ready().does(refused("a", "not_offered"))).includes("chooseAnew"));
});

test("a conversation that cannot be opened is told, and its messages are said to be refused one after the other", () => {
  const story = new Story();
  story.does(send("a"));
  story.does({ type: "socketOpened" });
  const effects = story.does({ type: "error", code: "not_found", text: "There is no such conversation." });
  assert.deepEqual(effects[0], { do: "tellError", text: "There is no such conversation." });
  assert.deepEqual(said(effects), ["send a"]);
});

test("an error of an answer is announced, and its own sentence shows it", () => {
  const effects = Story.ready().does({ type: "error", code: "overloaded", text: "Busy.", message: "9" });
  assert.deepEqual(names(effects), ["announce", "showRunning", "cancel sendQueued"]);
});

test("a message is said anew in place of the old one, not while an answer runs", () => {
  const chosen = { model: "great", effort: "max", memory: "none" };
  const edit = { type: "edit", message: message("a", { edits: "3", pasted: [[0, 4]], ...chosen }) };
  const running = Story.ready({ isRunning: true });
  assert.deepEqual(names(running.does(edit)), ["tell running"]);
  assert.deepEqual(running.stages, []);
  const story = Story.ready();
  const effects = story.does(edit);
  assert.deepEqual(names(effects), ["keep", "leaveFrom", "say"]);
  assert.deepEqual(effects.at(-1).frame, {
    type: "edit",
    client_id: "a",
    session: "s",
    text: "Text of a",
    pasted: [[0, 4]],
    message: "3",
    ...chosen,
  });
  // A refused one shows again what it was to replace, unless that very text is stored.
  assert.ok(names(story.does(refused("a", "conflict"))).every((name) => name !== "takeStored"));
  assert.ok(names(story.does(refused("a", "not_shown"))).includes("takeStored"));
});

test("a message that is taken back is forgotten; one that was said anew brings the old one back", () => {
  const story = Story.ready({ isRunning: true });
  story.does(send("a"));
  assert.deepEqual(names(story.does({ type: "takeBack", client_id: "a" })), ["forget"]);
  assert.deepEqual(story.stages, []);
  story.does({ type: "edit", message: message("b", { edits: "3" }) }, { isRunning: false });
  assert.deepEqual(names(story.does({ type: "takeBack", client_id: "b" })), ["forget", "takeStored"]);
});

test("a command that ends the conversation leaves it, and is not said again", () => {
  const story = Story.ready();
  const effects = story.does({ type: "ended", client_id: "a", session: "s", reason: "new", next: null });
  assert.deepEqual(effects.at(-1), { do: "leave", next: null });
  assert.deepEqual(names(effects), ["forget", "leave"]);
});

test("a command that ends the conversation opens the one with which it goes on", () => {
  const effects = Story.ready().does({ type: "ended", client_id: "a", session: "s", reason: "new", next: "t" });
  assert.deepEqual(effects.at(-1), { do: "leave", next: "t" });
});

test("a command about the context is forgotten, told, and lets the next message go", () => {
  const story = Story.ready();
  story.does(send("a"));
  story.does(send("b"));
  const effects = story.does({ type: "command", client_id: "a", session: "s", command: "/compact", text: "Done." });
  assert.deepEqual(names(effects), ["forget", "tellCommand", "showRunning", "start sendQueued"]);
  assert.deepEqual(story.says({ type: "sendQueued" }), ["send b"]);
});

test("what was found in this browser is shown, each message once", () => {
  const story = new Story();
  story.does(send("a"));
  story.does({ type: "found", kept: [{ message: message("a"), refused: "No." }, { message: message("b"), refused: "No." }] });
  assert.deepEqual(story.stages, ["a said", "b refused"]);
});

test("a page that lacks what a block continues opens the session again, once until the answer", () => {
  const story = Story.ready();
  assert.deepEqual(names(story.does({ type: "blockMissed" })), ["start openAgain"]);
  assert.deepEqual(names(story.does({ type: "blockMissed" })), []);
  assert.deepEqual(names(story.does({ type: "openAgain" })), ["open"]);
  story.does({ type: "ready", reset: false, seq: 0 });
  assert.deepEqual(names(story.does({ type: "blockMissed" })), ["start openAgain"]);
});
