// The chat page: what a person does becomes frames, and frames become what the page shows (docs/protocol.md).

import "./code.js";
import "./prose.js";
import { watchActions } from "./actions.js";
import { Announcer } from "./announcer.js";
import { Attachments } from "./attachments.js";
import { Choices } from "./choices.js";
import { watchCommands } from "./commands.js";
import { Composer } from "./composer.js";
import { Conversation, filesOf } from "./conversation.js";
import { Earlier } from "./earlier.js";
import { Editing } from "./editing.js";
import { watchFolding } from "./folding.js";
import { Follower } from "./follower.js";
import { Mode } from "./mode.js";
import { Polling } from "./polling.js";
import { refreshSessions, watchSidebar } from "./sidebar.js";
import { Reading } from "./reading.js";
import { Socket } from "./socket.js";
import { Unsent, newId } from "./unsent.js";
import { words } from "./words.js";

const main = document.getElementById("main");
const find = (name) => main.querySelector(`[data-${name}]`);

const unsent = new Unsent(main.dataset.person);
// Before anything has to be waited for.
watchFolding();
// Of a new conversation nobody but this browser knows until its first message has arrived: a reload takes it up again.
let isNew = "new" in main.dataset;
const session = (isNew && (await unsent.takeUp())) || main.dataset.session;
const draftKey = () => (isNew ? "new" : session);

const mode = new Mode(main);
const choices = new Choices(main);
const announcer = new Announcer(find("announcer"));
const follower = new Follower(find("scroller"), find("messages"), find("jump"));
const conversation = new Conversation(find("messages"), find("welcome"), announcer);
const address = `/c/${session}`;
const token = find("composer").elements.namedItem("csrfmiddlewaretoken").value;
const attachments = new Attachments({
  form: find("composer"),
  target: find("drop"),
  address,
  token,
  most: Number(main.dataset.mostFiles),
  largest: Number(main.dataset.fileSize),
});
const composer = new Composer(find("composer"), {
  longest: Number(main.dataset.longest),
  attachments,
  onSend: send,
  onStop: stop,
  onArrived: (sentence) => announcer.say(sentence),
  onDraft(text, files) {
    unsent.keepDraft(draftKey(), text);
    unsent.keepDraftFiles(draftKey(), files);
  },
});

const end = find("end");
const connection = find("connection");
let lostAt = null;
// Whether the server has opened the session on this socket; until then messages wait for it.
let isReady = false;

const socket = new Socket({
  onOpen: open,
  onFrame: (frame) => handlers[frame.type]?.(frame),
  onState(state) {
    clearTimeout(lostAt);
    isReady = false;
    if (state === "open") reached();
    else if (state === "signed out") {
      composer.tell(words.signedOut, { bad: true, link: `/accounts/login/?next=${encodeURIComponent(location.pathname)}` });
    } else {
      failures += 1;
      if (failures > MOST_FAILURES) polling.start();
      // A short gap is nobody's business.
      if (!polling.works) lostAt = setTimeout(lost, 1500);
    }
  },
});

function reached() {
  clearTimeout(lostAt);
  connection.textContent = "";
  conversation.waitingFor("connection", false);
}

function lost() {
  connection.textContent = words.connecting;
  conversation.waitingFor("connection", true);
}

// Attempts to open the session by a socket that failed in a row; after these it goes on by plain requests, until a
// socket comes through.
let failures = 0;
const MOST_FAILURES = 1;
// Milliseconds: how long the list may take, and before what was in vain is tried again.
const PATIENCE = 15_000;
const TRY_AGAIN_AFTER = 1000;
const NOT_FOUND = 404;

const earlier = new Earlier(find("messages"), find("scroller"), address);
const reading = new Reading({ address, token, lastSeq: () => conversation.lastSeq });

const polling = new Polling({
  address,
  token,
  lastSeq,
  isRunning: () => conversation.isRunning,
  isKnown: () => !isNew,
  onFrame: (frame) => handlers[frame.type]?.(frame),
  onBack: () => sayAgain(),
  onState: (works) => (works ? reached() : lost()),
});

function open() {
  socket.say("open", { session, last_seq: lastSeq(), person: main.dataset.person });
}

// Whoever asks for what comes after it learns what became of the rest.
function lastSeq() {
  conversation.doubt();
  return conversation.lastSeq;
}

// Whether the frame left; one that did not is for `sayAgain`.
function say(type, fields) {
  if (polling.isOn) return polling.say(type, fields);
  return isReady && socket.say(type, fields);
}

function send(text, files) {
  const message = { client_id: newId(), session, text, files, mode: mode.value, ...choices.value };
  mode.settle();
  choices.settle();
  unsent.add(message, isNew);
  const isNext = conversation.pending.length === 0;
  conversation.addPending(message);
  follower.toEnd();
  // Nothing overtakes what was written before, and nobody is interrupted.
  if (isNext && !conversation.isRunning) saySend(message);
  else {
    wait(message.client_id);
    showRunning();
  }
}

function saySend({ files = [], ...message }) {
  return say("send", { ...message, session, files: files.map(({ id }) => id) });
}

// A message that is neither acknowledged nor refused, new or said anew; with all that was chosen for it at first.
function sayMessage({ edits, ...message }) {
  if (edits) return say("edit", { ...message, session, message: edits, model: unsent.message(message.client_id)?.model });
  return saySend({ ...unsent.message(message.client_id), ...message });
}

const editing = new Editing(document.getElementById("editing"), find("messages"), {
  longest: Number(main.dataset.longest),
  onKeep: (name, text) => unsent.keepEdit(session, name, text),
  kept: () => unsent.edits(session),
  onGone(text) {
    composer.value = [composer.value, text].filter(Boolean).join("\n\n");
    composer.tell(words.editKept, { kind: "edit" });
  },
  onSend(article, text) {
    if (conversation.isRunning) {
      composer.tell(words.running, { kind: "running" });
      return false;
    }
    const message = { client_id: newId(), session, text, edits: article.id.replace("message-", ""), model: choices.value.model };
    unsent.add(message, false);
    conversation.leaveFrom(article);
    conversation.addPending(message);
    sayMessage(message);
    composer.focus();
    return true;
  },
});

watchActions(main, document.getElementById("details"), {
  edit: (article) => editing.open(article),
  again: (message) => tryAgain("retry", message),
  show,
  tell: (sentence) => composer.tell(sentence, { kind: "action", bad: true }),
  announce: (sentence) => announcer.say(sentence),
});

// What was pressed and has not come true yet: an answer of the turn that is to stop, and {type, message} of an answer
// that is to be tried again or to go on.
let stopping = null;
// The version that is to be shown.
let showing = null;
let wanted = null;

function stop() {
  stopping = conversation.runningId;
  if (!say("stop", { message: stopping })) composer.tell(words.notSent, { kind: "running" });
}

function show(message) {
  showing = say("show", { message }) ? null : message;
  if (showing) composer.tell(words.notSent, { kind: "again" });
}

function tryAgain(type, message) {
  wanted = { type, message, model: choices.value.model };
  conversation.allowAgain(message, false);
  if (!sayWanted()) composer.tell(words.notSent, { kind: "again" });
}

function forgetWanted() {
  composer.hush("again");
  if (wanted) conversation.allowAgain(wanted.message, true);
  wanted = null;
}

// The server can be reached again: whatever it has not acknowledged, in the order in which it was written, and what was
// pressed. A stop names its turn, so it never stops another one; an answer is tried again once, however often it is said.
function sayAgain({ wantedIn = 0 } = {}) {
  waiting.clear();
  conversation.waitingFor("answer", false);
  forgetTakenBack();
  for (const { message, refused } of unsent.of(session)) conversation.addPending(message, refused);
  // One at a time, so that they keep their order.
  const [first, ...rest] = conversation.pending;
  for (const { client_id } of rest) wait(client_id);
  if (first) sayMessage(first);
  composer.hush("running");
  composer.hush("again");
  if (stopping) say("stop", { message: stopping });
  if (showing) show(showing);
  if (wantedIn) setTimeout(sayWanted, wantedIn);
  else sayWanted();
}

function sayWanted() {
  return wanted && say(wanted.type, { message: wanted.message, model: wanted.model });
}

// What was refused because an answer was running; it goes when that one is finished.
const waiting = new Set();
let turn = null;

// What the person took back in another tab, or what that one has delivered.
function forgetTakenBack() {
  for (const { client_id } of conversation.pending) {
    if (unsent.message(client_id)) continue;
    waiting.delete(client_id);
    conversation.drop(client_id);
  }
}

function wait(clientId) {
  if (!conversation.pending.some((message) => message.client_id === clientId)) return;
  waiting.add(clientId);
  conversation.waitingFor("answer", true, clientId);
}

// The first of them; the next one waits for its answer.
function sendWaiting() {
  forgetTakenBack();
  // What was said and has not been answered yet goes first.
  if (conversation.pending.some((message) => !waiting.has(message.client_id))) return;
  const first = conversation.pending.find((message) => waiting.has(message.client_id));
  if (!first || !sayMessage(first)) return;
  waiting.delete(first.client_id);
  conversation.waitingFor("answer", false, first.client_id);
}

let isTaking = false;

// What stands here is out of date: take the list as it is stored, then follow again from there.
async function takeStored() {
  isReady = false;
  if (isTaking) return;
  isTaking = true;
  let isTaken = false;
  try {
    const stored = await fetch(`/c/${session}/messages`, { signal: AbortSignal.timeout(PATIENCE) });
    isTaken = stored.ok && !stored.redirected;
    if (isTaken) conversation.replaceAll(await stored.text());
  } catch {
    // No network: the socket ends as well, and opens the session anew when it is back.
  }
  isTaking = false;
  showRunning();
  // A server in trouble is not asked without a pause.
  if (isTaken) open();
  else setTimeout(open, TRY_AGAIN_AFTER);
}

const handlers = {
  ready({ reset, seq }) {
    if (reset) {
      takeStored();
      return;
    }
    isReady = true;
    failures = 0;
    polling.stop();
    // Something followed already, perhaps by that very press: what it is comes next, and then nothing is said any more.
    const isFollowed = wanted && conversation.seqOf(wanted.message) !== seq;
    sayAgain({ wantedIn: isFollowed ? TRY_AGAIN_AFTER : 0 });
    showRunning();
  },
  ack({ client_id, message, seq }) {
    unsent.remove(client_id);
    waiting.delete(client_id);
    conversation.confirm(client_id, message, seq);
    if (isNew) becomeKnown();
    showRunning();
  },
  // A command such as /new has ended the conversation: here begins another one.
  ended({ client_id }) {
    unsent.remove(client_id);
    location.assign("/");
  },
  message(frame) {
    conversation.setMessage(frame);
    if ((isReady || polling.isOn) && conversation.lacksNewsBefore(frame.seq)) takeStored();
    showRunning();
  },
  block(frame) {
    conversation.setBlock(frame);
    composer.hush("retrying");
  },
  tool: (frame) => conversation.setTool(frame),
  done(frame) {
    conversation.settle(frame);
    composer.hush("retrying");
    showRunning();
    if (!frame.final) return;
    if (!conversation.isRunning) stopping = null;
    sendWaiting();
    reading.tell();
  },
  notice({ kind, html }) {
    if (kind === "sessions") refreshSessions();
    else composer.tell(html, { kind });
  },
  error({ code, text, client_id, message }) {
    // A failed answer shows its sentence itself.
    if (message) announcer.say(text);
    else if (client_id && code === "busy") wait(client_id);
    else if (client_id) {
      if (code !== "conflict" && conversation.isEdit(client_id)) takeStored();
      if (code === "not_found") unsent.refuseHomeless(client_id, text);
      else unsent.refuse(client_id, text);
      if (code === "not_offered" && isNew) choices.unsettle();
      conversation.refuse(client_id, text);
    } else {
      composer.tell(text, { bad: true });
      forgetWanted();
      // The answer to `open`: what was written into the conversation is told so, one after the other.
      if (code === "not_found" && !isReady) {
        isReady = true;
        sayAgain();
      }
    }
    showRunning();
  },
};

function showRunning() {
  composer.setRunning(conversation.isRunning);
  if (wanted && !conversation.isLast(wanted.message)) forgetWanted();
  clearTimeout(turn);
  // The end of an answer that this page did not see running is not told to it.
  if (waiting.size && !conversation.isRunning) turn = setTimeout(sendWaiting, TRY_AGAIN_AFTER);
}

// The first message has made the conversation: it has an address now, and its draft is its own.
function becomeKnown() {
  unsent.keepDraft("new", "");
  unsent.keepDraftFiles("new", []);
  unsent.becameKnown(session);
  isNew = false;
  unsent.keepDraft(session, composer.value);
  unsent.keepDraftFiles(session, attachments.files);
  history.replaceState(null, "", `/c/${session}`);
  end.action = `/c/${session}/end`;
  end.hidden = false;
  find("head-menu").href = `/c/${session}/menu`;
  find("head-menu").hidden = false;
  refreshSessions();
}

main.addEventListener("click", (event) => {
  const button = event.target.closest("button");
  if (!button) return;
  if (button.dataset.action === "edit" || button.dataset.action === "remove") {
    const article = button.closest("article");
    const text = article.querySelector(".said").textContent;
    const files = filesOf(article);
    unsent.remove(article.dataset.clientId);
    waiting.delete(article.dataset.clientId);
    article.remove();
    // What it was to replace is shown again.
    if (article.dataset.edits) takeStored();
    if (button.dataset.action === "edit") {
      composer.value = [text, composer.value].filter(Boolean).join("\n\n");
      attachments.put(files);
    }
    composer.focus();
  } else if (button.dataset.action) {
    event.preventDefault();
    tryAgain(button.dataset.action, button.closest("article").id.replace("message-", ""));
    composer.focus();
  } else if ("starter" in button.dataset) {
    composer.value = button.textContent.trim();
    composer.focus();
  }
});

// What a closed tab did not send, and whose conversation was deleted meanwhile, is shown in a new one.
async function takeHomeless() {
  for (const other of unsent.others(session)) {
    const answer = await fetch(`/c/${other}/messages?after=${Number.MAX_SAFE_INTEGER}`).catch(() => null);
    if (answer?.status !== NOT_FOUND) continue;
    unsent.sendEdits(other);
    const place = isNew ? session : newId();
    for (const { message } of unsent.of(other)) unsent.refuseHomeless(message.client_id, words.homeless, place);
    if (!isNew) composer.tell(words.homelessElsewhere, { kind: "homeless", link: "/" });
  }
  for (const { message, refused } of unsent.of(session)) if (refused) conversation.addPending(message, refused);
}

// A page that comes back out of the browser's memory may show cards of what was undone meanwhile.
addEventListener("pageshow", ({ persisted }) => persisted && !isNew && takeStored());

watchSidebar(session);
watchCommands(find("composer"), { composer, announcer, session });
// A form that came back with its refusal holds its words already.
const draft = { text: unsent.draft(draftKey()), files: unsent.draftFiles(draftKey()) };
attachments.put(draft.files);
if (!composer.value) composer.value = draft.text;
for (const { message, refused } of unsent.of(session)) {
  conversation.addPending(message, refused);
  mode.choose(message.mode);
  mode.settle();
  choices.choose(message);
  choices.settle();
}
editing.takeUp();
showRunning();
follower.toEnd();
earlier.show(location.hash);
socket.connect();
takeHomeless();
