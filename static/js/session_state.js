// The state machine of the chat page: a table with one transition for each event. It touches neither the page nor the
// network: a transition reads what the page shows, and returns the next state and the effects, which chat.js carries out.

/** @import { ClientFrame } from "./frames.js" */
/** @import { Effect, Event, Kept, Message, Shown, State, Step } from "./session_types.js" */

// Sockets in a row that may fail before frames are sent by plain requests, until a socket works again.
const SILENT_MAX_FAILURES = 1;
const SHORT_GAP_MS = 1500;
const TRY_AGAIN_MS = 1000;

/**
 * @param {string} session
 * @param {boolean} isNew
 * @returns {State}
 */
export function initialState(session, isNew) {
  return {
    session,
    isNew,
    isReady: false,
    isLost: false,
    failures: 0,
    isPolling: false,
    doesPollingWork: false,
    isTaking: false,
    pending: new Map(),
    stopping: null,
    showing: null,
    wanted: null,
  };
}

/**
 * @param {State} before
 * @param {Event} event
 * @param {Shown} shown
 * @returns {{ state: State, effects: Effect[] }}
 */
export function transition(before, event, shown) {
  /** @type {Effect[]} */
  const effects = [];
  const state = { ...before, pending: new Map(before.pending) };
  const change = /** @type {(step: Step, event: Event) => void} */ (transitions[event.type]);
  change({ state, shown, act: (...asked) => effects.push(...asked) }, event);
  return { state, effects };
}

/** @type {{ [Type in Event["type"]]: (step: Step, event: Extract<Event, { type: Type }>) => void }} */
const transitions = {
  // -- The connection --------------------------------------------------------------------------

  socketOpened(step) {
    step.state.isReady = false;
    reached(step);
    step.act({ do: "open" });
  },

  socketClosed({ state, act }) {
    state.isReady = false;
    state.failures += 1;
    if (state.failures > SILENT_MAX_FAILURES && !state.isPolling) {
      state.isPolling = true;
      act({ do: "startPolling" });
    }
    // A short interruption is not shown.
    if (state.doesPollingWork) act({ do: "cancel", timer: "connectionLost" });
    else act({ do: "start", timer: "connectionLost", milliseconds: SHORT_GAP_MS });
  },

  signedOut({ state, act }) {
    state.isReady = false;
    act({ do: "cancel", timer: "connectionLost" }, { do: "leaveSignedOut" });
  },

  connectionLost({ state }) {
    state.isLost = true;
  },

  // The browser has lost its network: the socket may notice much later.
  offline({ state }) {
    state.isLost = true;
  },

  online(step) {
    if (step.state.isReady && step.shown.isSocketOpen) reached(step);
  },

  polled(step, { works }) {
    step.state.doesPollingWork = works;
    if (works) reached(step);
    else step.state.isLost = true;
  },

  pollingBack: (step) => sayAgain(step),

  ready(step, { reset, seq }) {
    const { state, shown, act } = step;
    if (reset) {
      takeStored(step);
      return;
    }
    state.isReady = true;
    state.failures = 0;
    state.isPolling = state.doesPollingWork = false;
    act({ do: "stopPolling" });
    // Another message followed already, perhaps by this click: it arrives next, and no frame is sent any more.
    const isFollowed = state.wanted !== null && shown.seqOf(state.wanted.message) !== seq;
    sayAgain(step, { waitsForNews: isFollowed });
    follow(step);
  },

  openAgain: ({ act }) => act({ do: "open" }),

  // A frame continues what the page does not have, once until the answer to `open`: that has the whole.
  blockMissed({ state, act }) {
    if (!state.isReady) return;
    state.isReady = false;
    act({ do: "start", timer: "openAgain", milliseconds: TRY_AGAIN_MS });
  },

  // -- The list of messages --------------------------------------------------------------------

  // A message arrived and is shown; `lacksNews`: a requested one before it did not arrive.
  message(step, { lacksNews }) {
    if ((step.state.isReady || step.state.isPolling) && lacksNews) takeStored(step);
    follow(step);
  },

  // A page from the back/forward cache may show changes that were undone meanwhile.
  restored(step) {
    if (!step.state.isNew) takeStored(step);
  },

  stored(step, { isTaken }) {
    step.state.isTaking = false;
    follow(step);
    // Wait before the next request to a server that has failed.
    if (isTaken) step.act({ do: "open" });
    else step.act({ do: "start", timer: "openAgain", milliseconds: TRY_AGAIN_MS });
  },

  // -- The person's messages -------------------------------------------------------------------

  // A message waits for those before it, and for the end of a running answer.
  send(step, { message }) {
    const { state, shown, act } = step;
    const isNext = unrefused(state).length === 0 && (shown.isShared || !shown.isRunning);
    state.pending.set(message.client_id, { message, stage: isNext ? "said" : "queued", refusal: "" });
    act({ do: "keep", message, isNew: state.isNew }, { do: "scrollToEnd" });
    if (isNext) sayMessage(step, message);
    else follow(step);
  },

  edit(step, { message }) {
    const { state, shown, act } = step;
    if (shown.isRunning) {
      act({ do: "tell", word: "running", kind: "running" });
      return;
    }
    state.pending.set(message.client_id, { message, stage: "said", refusal: "" });
    act({ do: "keep", message, isNew: false });
    if (message.edits) act({ do: "leaveFrom", message: message.edits });
    sayMessage(step, message);
  },

  // Messages of this browser's storage that were written earlier, or in another tab.
  found(step, { kept }) {
    adopt(step, kept);
    follow(step);
  },

  ack(step, { client_id, message, seq }) {
    const { state, act } = step;
    state.pending.delete(client_id);
    act({ do: "forget", client_id }, { do: "confirm", client_id, message, seq });
    if (state.isNew) {
      state.isNew = false;
      act({ do: "becomeKnown" });
    }
    follow(step);
  },

  // The message waits for an answer in a shared conversation: from now on it is in the server's queue.
  queued(step, { client_id }) {
    step.state.pending.delete(client_id);
    step.act({ do: "forget", client_id });
    follow(step);
  },

  takeBack(step, { client_id }) {
    const taken = step.state.pending.get(client_id);
    step.state.pending.delete(client_id);
    step.act({ do: "forget", client_id });
    // The edited message is shown again.
    if (taken?.message.edits) takeStored(step);
  },

  sendQueued: (step) => sendQueued(step),

  // A command such as /new has ended the conversation: open the next one, or a new one.
  ended({ act }, { client_id, next }) {
    act({ do: "forget", client_id }, { do: "leave", next });
  },

  // A command such as /compact was carried out: nothing is stored.
  command(step, { client_id, command, text }) {
    step.state.pending.delete(client_id);
    step.act({ do: "forget", client_id }, { do: "tellCommand", command, text });
    follow(step);
  },

  error(step, { code, text, client_id, message }) {
    // A failed answer shows its error itself.
    if (message) step.act({ do: "announce", text });
    else if (client_id && code === "busy") queue(step.state, client_id);
    else if (client_id) refuse(step, client_id, code, text);
    else {
      step.act({ do: "tellError", text });
      forgetWanted(step);
      // The reply to `open`: messages for this conversation are refused too, one after the other.
      if (code === "not_found" && !step.state.isReady) {
        step.state.isReady = true;
        sayAgain(step);
      }
    }
    follow(step);
  },

  // -- Answers ---------------------------------------------------------------------------------

  done(step, { final }) {
    follow(step);
    if (!final) return;
    if (!step.shown.isRunning) step.state.stopping = null;
    sendQueued(step);
    step.act({ do: "tellRead" });
  },

  stop(step) {
    step.state.stopping = step.shown.runningId;
    const isSaid = say(step, { type: "stop", message: step.state.stopping });
    if (!isSaid) step.act({ do: "tell", word: "notSent", kind: "running" });
  },

  show: (step, { message }) => show(step, message),

  again(step, { wanted }) {
    step.state.wanted = wanted;
    step.act({ do: "allowAgain", message: wanted.message, isAllowed: false });
    if (!say(step, wanted)) step.act({ do: "tell", word: "notSent", kind: "again" });
  },

  sayWanted: (step) => sayWanted(step),
};

/** @param {Step} step */
function reached({ state, act }) {
  state.isLost = false;
  act({ do: "cancel", timer: "connectionLost" });
}

/**
 * Send a frame, if the server can be reached. What was not sent is sent by `sayAgain`.
 * @param {Step} step
 * @param {ClientFrame} frame
 */
function say({ state, shown, act }, frame) {
  const canBeSaid = state.isPolling || (state.isReady && shown.isSocketOpen);
  if (canBeSaid) act({ do: "say", frame });
  return canBeSaid;
}

/**
 * Send a message, new or edited, with the mode, agent, space, model, effort and memory that were chosen for it at first.
 * @param {Step} step
 * @param {Message} message
 */
function sayMessage(step, { client_id, text, pasted, files = [], edits, mode, agent, space, model, effort, memory }) {
  const { session } = step.state;
  if (edits) return say(step, { type: "edit", client_id, session, text, pasted, message: edits, model, effort, memory });
  const ids = files.map(({ id }) => id);
  return say(step, { type: "send", client_id, session, text, pasted, mode, agent, space, model, effort, memory, files: ids });
}

/**
 * Send what the server has not acknowledged, because it can be reached again: messages in the order in which they were
 * written, and buttons that were pressed. A stop names its turn, so it never stops another one; a repeated retry starts
 * one attempt.
 * @param {Step} step
 */
function sayAgain(step, { waitsForNews = false } = {}) {
  const { state, shown, act } = step;
  forgetTakenBack(step);
  adopt(step, shown.kept());
  // One at a time, so that they keep their order.
  const [first, ...rest] = unrefused(state);
  for (const { message } of rest) queue(state, message.client_id);
  if (first) {
    state.pending.set(first.message.client_id, { ...first, stage: "said" });
    sayMessage(step, first.message);
  }
  act({ do: "hush", kind: "running" }, { do: "hush", kind: "again" });
  if (state.stopping) say(step, { type: "stop", message: state.stopping });
  if (state.showing) show(step, state.showing);
  if (waitsForNews) act({ do: "start", timer: "sayWanted", milliseconds: TRY_AGAIN_MS });
  else sayWanted(step);
}

/** @param {Step} step */
function sayWanted(step) {
  if (step.state.wanted) say(step, step.state.wanted);
}

/**
 * @param {Step} step
 * @param {string} message
 */
function show(step, message) {
  const isSaid = say(step, { type: "show", message });
  step.state.showing = isSaid ? null : message;
  if (!isSaid) step.act({ do: "tell", word: "notSent", kind: "again" });
}

/** @param {Step} step */
function forgetWanted({ state, act }) {
  act({ do: "hush", kind: "again" });
  if (state.wanted) act({ do: "allowAgain", message: state.wanted.message, isAllowed: true });
  state.wanted = null;
}

/**
 * Fetch the stored list, because the one that is shown is out of date, and then continue from its end.
 * @param {Step} step
 */
function takeStored({ state, act }) {
  state.isReady = false;
  if (state.isTaking) return;
  state.isTaking = true;
  act({ do: "takeStored" });
}

/**
 * Handle a change of the list: an answer may have begun or ended.
 * @param {Step} step
 */
function follow(step) {
  const { state, shown, act } = step;
  act({ do: "showRunning" });
  if (state.wanted && !shown.isLast(state.wanted.message)) forgetWanted(step);
  // The page gets no frame for the end of an answer that it did not see running.
  const isWaiting = unrefused(state).some(({ stage }) => stage === "queued");
  if (isWaiting && (shown.isShared || !shown.isRunning)) act({ do: "start", timer: "sendQueued", milliseconds: TRY_AGAIN_MS });
  else act({ do: "cancel", timer: "sendQueued" });
}

/** @param {State} state */
function unrefused(state) {
  return [...state.pending.values()].filter(({ stage }) => stage !== "refused");
}

/**
 * @param {Step["state"]} state
 * @param {string} client_id
 */
function queue(state, client_id) {
  const pending = state.pending.get(client_id);
  if (pending && pending.stage !== "refused") state.pending.set(client_id, { ...pending, stage: "queued" });
}

/**
 * Send the first queued message; the next one waits for its answer.
 * @param {Step} step
 */
function sendQueued(step) {
  forgetTakenBack(step);
  const waiting = unrefused(step.state);
  // Messages that were sent and are not acknowledged yet come first.
  if (!waiting.length || waiting.some(({ stage }) => stage === "said")) return;
  const [first] = waiting;
  if (sayMessage(step, first.message)) step.state.pending.set(first.message.client_id, { ...first, stage: "said" });
}

/**
 * @param {Step} step
 * @param {Kept[]} kept
 */
function adopt({ state }, kept) {
  for (const { message, refused } of kept) {
    if (state.pending.has(message.client_id)) continue;
    state.pending.set(message.client_id, { message, stage: refused ? "refused" : "said", refusal: refused });
  }
}

/**
 * Forget messages that were removed in another tab, or sent by it.
 * @param {Step} step
 */
function forgetTakenBack({ state, shown }) {
  for (const { message } of unrefused(state)) if (!shown.isKept(message.client_id)) state.pending.delete(message.client_id);
}

/**
 * @param {Step} step
 * @param {string} client_id
 * @param {string} code
 * @param {string} text
 */
function refuse(step, client_id, code, text) {
  const { state, act } = step;
  const pending = state.pending.get(client_id);
  if (code !== "conflict" && pending?.message.edits) takeStored(step);
  act({ do: code === "not_found" ? "keepHomeless" : "keepRefusal", client_id, text });
  if (code === "not_offered" && state.isNew) act({ do: "chooseAnew" });
  if (pending) state.pending.set(client_id, { ...pending, stage: "refused", refusal: text });
}
