// The chat page. Actions of the person and frames of the server become events of the state machine (session_state.js),
// and the effects that it returns are carried out here.

/** @import { AgainFrame, ClientFrame, ServerFrame } from "./frames.js" */
/** @import { Effect, Event, Shown, Timer } from "./session_types.js" */

import "./code.js";
import "./palette.js";
import "./prose.js";
import "./times.js";
import "./travel.js";
import { watchActions } from "./actions.js";
import { Announcer } from "./announcer.js";
import { Attachments } from "./attachments.js";
import { Choices } from "./choices.js";
import { watchCommands } from "./commands.js";
import { Company } from "./company.js";
import { Composer } from "./composer.js";
import { Conversation } from "./conversation.js";
import { around, find } from "./dom.js";
import { Earlier } from "./earlier.js";
import { Editing } from "./editing.js";
import { watchFolding } from "./folding.js";
import { Follower } from "./follower.js";
import { Meter } from "./meter.js";
import { Mode } from "./mode.js";
import { PendingList } from "./pending.js";
import { Polling } from "./polling.js";
import { Reading } from "./reading.js";
import { Rounds, tellRoundsChanged } from "./rounds.js";
import { initialState, transition } from "./session_state.js";
import { refreshSessions, tellInToast, watchSidebar } from "./sidebar.js";
import { Socket } from "./socket.js";
import { Unsent, newId } from "./unsent.js";
import { words } from "./words.js";
import { Working } from "./working.js";

const LIST_WAIT_MS = 15_000;
const NOT_FOUND_STATUS = 404;

const main = find(document, "#main", HTMLElement);
const list = find(main, "[data-messages]", HTMLElement);
const scroller = find(main, "[data-scroller]", HTMLElement);
const connection = find(main, "[data-connection]", HTMLElement);
const form = find(main, "[data-composer]", HTMLFormElement);
const { person = "" } = main.dataset;

const unsent = new Unsent(person);
// Set up before the first await.
watchFolding();
const isNew = "new" in main.dataset;
// The server does not know a new conversation before its first message: after a reload this browser restores it.
const session = (isNew && (await unsent.takeUp())) || (main.dataset.session ?? "");
let state = initialState(session, isNew);
const draftKey = () => (state.isNew ? "new" : session);

const mode = new Mode(main);
const choices = new Choices(main);
const announcer = new Announcer(find(main, "[data-announcer]", HTMLElement));
const follower = new Follower(scroller, list, find(main, "[data-jump]", HTMLButtonElement));
const conversation = new Conversation(list, find(main, "[data-welcome]", HTMLElement), announcer);
const pendingList = new PendingList(list, announcer);
const address = `/c/${session}`;
const token = find(form, "[name=csrfmiddlewaretoken]", HTMLInputElement).value;
const attachments = new Attachments({
  form,
  target: find(main, "[data-drop]", HTMLElement),
  address,
  token,
  most: Number(main.dataset.mostFiles),
  largest: Number(main.dataset.fileSize),
});
const composer = new Composer(form, {
  longest: Number(main.dataset.longest),
  attachments,
  onSend(text, files, pasted) {
    const message = { client_id: newId(), session, text, pasted, files, mode: mode.value, ...choices.value };
    mode.fix();
    choices.fix();
    dispatch({ type: "send", message });
  },
  onStop: () => dispatch({ type: "stop" }),
  onArrived: (sentence) => announcer.say(sentence),
  onDraft(text, files, pasted) {
    unsent.keepDraft(draftKey(), text, pasted);
    unsent.keepDraftFiles(draftKey(), files);
  },
});
const earlier = new Earlier(list, scroller, address, follower);
const meter = new Meter(find(main, "[data-meter]", HTMLElement), address);
const rounds = new Rounds(list, address, conversation, announcer);
new Working(list, find(main, "[data-working]", HTMLElement), { isRunning: () => conversation.isRunning, announcer });
const company = new Company(main, list, person, {
  onTakeBack({ client_id, text, pasted }) {
    sayNow({ type: "take_back", client_id });
    composer.add(text, pasted, { isBefore: true });
    composer.focus();
  },
  onWriting: () => socket.isOpen && !state.isPolling && socket.say({ type: "writing" }),
});
const reading = new Reading({ address, token, lastSeq: () => conversation.lastSeq });

// -- The state machine and its effects ---------------------------------------------------------

/** @type {Shown} */
const shown = {
  get isRunning() {
    return conversation.isRunning;
  },
  get runningId() {
    return conversation.runningId;
  },
  get isSocketOpen() {
    return socket.isOpen;
  },
  isShared: "shared" in main.dataset,
  isLast: (message) => conversation.isLast(message),
  seqOf: (message) => conversation.seqOf(message),
  isKept: (clientId) => unsent.message(clientId) !== undefined,
  kept: () => unsent.of(session),
};

/** @param {Event} event */
function dispatch(event) {
  const next = transition(state, event, shown);
  state = next.state;
  for (const effect of next.effects) {
    const carryOut = /** @type {(effect: Effect) => void} */ (effects[effect.do]);
    carryOut(effect);
  }
  draw();
}

function draw() {
  pendingList.draw(state.pending, state.isLost);
  const notice = !state.isLost ? "" : navigator.onLine ? words.connecting : words.offline;
  if (connection.textContent !== notice) connection.textContent = notice;
}

/** @param {ClientFrame} frame */
function sayNow(frame) {
  if (state.isPolling) polling.say(frame);
  else socket.say(frame);
}

/** @type {Map<Timer, ReturnType<typeof setTimeout>>} */
const timers = new Map();

/** @type {{ [Name in Effect["do"]]: (effect: Extract<Effect, { do: Name }>) => void }} */
const effects = {
  say: ({ frame }) => sayNow(frame),
  open: () => socket.say({ type: "open", session, last_seq: lastSeq(), person, appends: true }),
  startPolling: () => polling.start(),
  stopPolling: () => polling.stop(),
  start({ timer, milliseconds }) {
    clearTimeout(timers.get(timer));
    timers.set(timer, setTimeout(() => dispatch({ type: timer }), milliseconds));
  },
  cancel: ({ timer }) => clearTimeout(timers.get(timer)),
  async takeStored() {
    let isTaken = false;
    try {
      const stored = await fetch(`${address}/messages`, { signal: AbortSignal.timeout(LIST_WAIT_MS) });
      isTaken = stored.ok && !stored.redirected;
      if (isTaken) {
        conversation.replaceAll(await stored.text());
        answered();
      }
    } catch {
      // No network: the socket closes as well, and opens the session again when it reconnects.
    }
    dispatch({ type: "stored", isTaken });
  },
  keep: (effect) => unsent.add(effect.message, effect.isNew),
  forget: ({ client_id }) => unsent.remove(client_id),
  keepRefusal: ({ client_id, text }) => unsent.refuse(client_id, text),
  keepHomeless: ({ client_id, text }) => unsent.refuseHomeless(client_id, text),
  confirm({ client_id, message, seq }) {
    const article = pendingList.release(client_id);
    if (article) conversation.confirm(article, message, seq);
  },
  leaveFrom: ({ message }) => conversation.leaveFrom(message),
  allowAgain: ({ message, isAllowed }) => conversation.allowAgain(message, isAllowed),
  showRunning: () => composer.setRunning(conversation.isRunning),
  scrollToEnd() {
    draw();
    follower.toEnd();
  },
  chooseAnew() {
    mode.release();
    choices.release();
  },
  tell: ({ word, kind }) => composer.tell(words[word], { kind }),
  tellError: ({ text }) => composer.tell(text, { bad: true }),
  // What the page shows belongs to the person: it goes at once. What they were writing stays in this browser.
  leaveSignedOut: () => location.replace(`/accounts/login/?next=${encodeURIComponent(location.pathname)}`),
  hush: ({ kind }) => composer.hush(kind),
  tellCommand({ command, text }) {
    if (state.isNew) {
      mode.release();
      choices.release();
    }
    const ring = main.querySelector("[data-meter] a");
    if (command === "/context" && ring instanceof HTMLElement) ring.click();
    else tellInToast(text);
  },
  announce: ({ text }) => announcer.say(text),
  tellRead: () => reading.tell(),
  becomeKnown,
  leave: ({ next }) => location.assign(next ? `/c/${next}` : "/"),
};

// The first message has created the conversation: it now has a URL, and the draft belongs to it.
function becomeKnown() {
  unsent.keepDraft("new", "");
  unsent.keepDraftFiles("new", []);
  unsent.becameKnown(session);
  unsent.keepDraft(session, composer.value, composer.pasted);
  unsent.keepDraftFiles(session, attachments.files);
  history.replaceState(null, "", address);
  const menu = find(main, "[data-head-menu]", HTMLAnchorElement);
  menu.href = `${address}/menu`;
  menu.hidden = false;
  refreshSessions();
}

// -- The server ------------------------------------------------------------------------------------

const SOCKET_EVENTS = /** @type {const} */ ({ open: "socketOpened", waiting: "socketClosed", "signed out": "signedOut" });

const socket = new Socket({
  onFrame: take,
  onState: (now) => dispatch({ type: SOCKET_EVENTS[now] }),
});
for (const type of /** @type {const} */ (["offline", "online"])) addEventListener(type, () => dispatch({ type }));

const polling = new Polling({
  address,
  token,
  lastSeq,
  isRunning: () => conversation.isRunning,
  isKnown: () => !state.isNew,
  onFrame: take,
  onMarkers: (html) => rounds.put(html),
  onBack: () => dispatch({ type: "pollingBack" }),
  onState: (works) => dispatch({ type: "polled", works }),
});

// A request for the messages after this one also returns the state of the others.
function lastSeq() {
  conversation.doubt();
  return conversation.lastSeq;
}

// Whether a socket was open before on this page.
let wasReady = false;

/** @param {ServerFrame} frame */
function take(frame) {
  const taker = /** @type {((frame: ServerFrame) => void) | undefined} */ (takers[frame.type]);
  taker?.(frame);
}

/** @type {{ [Type in ServerFrame["type"]]?: (frame: Extract<ServerFrame, { type: Type }>) => void }} */
const takers = {
  ready(frame) {
    // A hint may have been lost while there was no socket.
    if (!frame.reset && (wasReady || rounds.isWaiting)) roundsChanged();
    wasReady = true;
    dispatch(frame);
  },
  ack: dispatch,
  ended: dispatch,
  command: dispatch,
  error: dispatch,
  queued: dispatch,
  queue: ({ waiting }) => company.setQueue(waiting),
  presence: ({ people }) => company.setPeople(people),
  message(frame) {
    conversation.setMessage(frame);
    dispatch({ type: "message", lacksNews: conversation.lacksNewsBefore(frame.seq) });
  },
  block(frame) {
    // What a frame continues was lost: the answer to `open` has the whole.
    if (!conversation.setBlock(frame)) dispatch({ type: "blockMissed" });
    composer.hush("retrying");
  },
  tool(frame) {
    conversation.setTool(frame);
    composer.hush("retrying");
  },
  done(frame) {
    conversation.finish(frame);
    composer.hush("retrying");
    composer.hush("waiting");
    if (frame.final) answered();
    dispatch(frame);
  },
  notice({ kind, html }) {
    if (kind === "sessions") refreshSessions();
    // Who sees the conversation, and what of it, has changed.
    else if (kind === "shared") location.reload();
    else if (kind === "rounds") roundsChanged();
    else if (html) composer.tell(html, { kind });
    else composer.hush(kind);
  },
};

// Refresh what depends on the answers: the meter, and what an app shows above them.
function answered() {
  meter.refresh();
  document.body.dispatchEvent(new CustomEvent("answered"));
}

function roundsChanged() {
  // The server does not know a new conversation yet.
  if (state.isNew) return;
  tellRoundsChanged();
  meter.refresh();
}

// -- The person ------------------------------------------------------------------------------------

const editing = new Editing(find(document, "#editing", HTMLTemplateElement), list, {
  longest: Number(main.dataset.longest),
  onKeep: (name, draft) => unsent.keepEdit(session, name, draft),
  kept: () => unsent.edits(session),
  onGone({ text, pasted }) {
    composer.add(text, pasted);
    composer.tell(words.editKept, { kind: "edit" });
  },
  onSend(article, { text, pasted }) {
    const edits = article.id.replace("message-", "");
    const message = { client_id: newId(), session, text, pasted, edits, ...choices.later };
    dispatch({ type: "edit", message });
    const isTaken = state.pending.has(message.client_id);
    if (isTaken) composer.focus();
    return isTaken;
  },
});

// A document was chosen in its dialog.
document.body.addEventListener("attach", (event) => {
  attachments.put([/** @type {CustomEvent} */ (event).detail]);
  find(document, "#details", HTMLDialogElement).close();
  composer.focus();
});

watchActions(main, find(document, "#details", HTMLDialogElement), {
  edit: (article) => editing.open(article),
  again: (message) => tryAgain("retry", message),
  show: (message) => dispatch({ type: "show", message }),
  tell: (sentence) => composer.tell(sentence, { kind: "action", bad: true }),
  announce: (sentence) => announcer.say(sentence),
});

/**
 * @param {AgainFrame["type"]} type
 * @param {string} message
 */
function tryAgain(type, message) {
  dispatch({ type: "again", wanted: { type, message, ...choices.later } });
}

main.addEventListener("click", (event) => {
  const button = around(event, "button");
  if (!button) return;
  const { action } = button.dataset;
  const article = button.closest("article");
  if (article && (action === "edit" || action === "remove")) {
    const taken = state.pending.get(article.dataset.clientId ?? "");
    if (!taken) return;
    const { message } = taken;
    dispatch({ type: "takeBack", client_id: message.client_id });
    if (action === "edit") {
      composer.add(message.text, message.pasted ?? [], { isBefore: true });
      attachments.put(message.files ?? []);
    }
    composer.focus();
  } else if (article && (action === "retry" || action === "continue")) {
    event.preventDefault();
    tryAgain(action, article.id.replace("message-", ""));
    composer.focus();
  } else if ("starter" in button.dataset) {
    composer.value = button.textContent?.trim() ?? "";
    composer.focus();
  }
});

// A card may have been answered or undone in place.
list.addEventListener("htmx:afterSwap", () => document.body.dispatchEvent(new CustomEvent("answered")));

// The button that closed an introduction is gone; on a phone, focus in the field would open the keyboard.
main.addEventListener("htmx:afterRequest", ({ target }) => {
  const isClosed = target instanceof Element && target.classList.contains("hints");
  if (isClosed && document.activeElement === document.body) main.focus({ preventScroll: true });
});

// A page that is restored from the browser's back/forward cache may show cards of changes that were undone meanwhile.
addEventListener("pageshow", ({ persisted }) => persisted && dispatch({ type: "restored" }));

// -- Start ---------------------------------------------------------------------------------

// An unsent message of a closed tab whose conversation was deleted meanwhile is shown in a new conversation.
async function takeHomeless() {
  for (const other of unsent.others(session)) {
    const answer = await fetch(`/c/${other}/messages?after=${Number.MAX_SAFE_INTEGER}`).catch(() => null);
    if (answer?.status !== NOT_FOUND_STATUS) continue;
    unsent.sendEdits(other);
    const place = state.isNew ? session : newId();
    for (const { message } of unsent.of(other)) unsent.refuseHomeless(message.client_id, words.homeless, place);
    if (!state.isNew) composer.tell(words.homelessElsewhere, { kind: "homeless", link: "/" });
  }
  dispatch({ type: "found", kept: unsent.of(session).filter(({ refused }) => refused) });
}

form.querySelector("#add")?.addEventListener("click", ({ currentTarget }) => {
  /** @type {HTMLElement} */ (currentTarget).hidePopover();
});
watchSidebar(session);
watchCommands(form, { composer, announcer, session });
// When the server has refused the plain form, the field already has the text.
const draft = { ...unsent.draft(draftKey()), files: unsent.draftFiles(draftKey()) };
attachments.put(draft.files);
if (!composer.value) composer.put(draft.text, draft.pasted);
for (const { message } of unsent.of(session)) {
  choices.choose(message);
  mode.choose(message.mode, message.memory);
  mode.fix();
  choices.fix();
}
dispatch({ type: "found", kept: unsent.of(session) });
editing.takeUp();
follower.toEnd();
earlier.show(location.hash);
socket.connect();
takeHomeless();
