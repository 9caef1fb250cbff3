// The chat page: what a person does becomes frames, and frames become what the page shows (docs/protocol.md).

import { Announcer } from "./announcer.js";
import { Composer } from "./composer.js";
import { Conversation } from "./conversation.js";
import { Earlier } from "./earlier.js";
import { Follower } from "./follower.js";
import { watchPalette } from "./palette.js";
import { Polling } from "./polling.js";
import { refreshSessions, watchSidebar } from "./sidebar.js";
import { Reading } from "./reading.js";
import { Socket } from "./socket.js";
import { Unsent, newId } from "./unsent.js";
import { words } from "./words.js";

const main = document.getElementById("main");
const find = (name) => main.querySelector(`[data-${name}]`);

const unsent = new Unsent(main.dataset.person);
// Of a new conversation nobody but this browser knows until its first message has arrived: a reload takes it up again.
let isNew = "new" in main.dataset;
const session = (isNew && unsent.newSession) || main.dataset.session;
const draftKey = () => (isNew ? "new" : session);

const announcer = new Announcer(find("announcer"));
const follower = new Follower(find("scroller"), find("messages"), find("jump"));
const conversation = new Conversation(find("messages"), find("welcome"), announcer);
const composer = new Composer(find("composer"), {
  longest: Number(main.dataset.longest),
  onSend: send,
  onStop: () => say("stop", { message: null }),
  onDraft: (text) => unsent.keepDraft(draftKey(), text),
});

const end = find("end");
const connection = find("connection");
let lostAt = null;
// Whether the server has opened the session on this socket; until then messages wait for it.
let isReady = false;

const socket = new Socket({
  onOpen: () => socket.say("open", { session, last_seq: conversation.lastSeq }),
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

const address = `/c/${session}`;
const token = find("composer").elements.namedItem("csrfmiddlewaretoken").value;
const earlier = new Earlier(find("messages"), find("scroller"), address);
const reading = new Reading({ address, token, lastSeq: () => conversation.lastSeq });

const polling = new Polling({
  address,
  token,
  lastSeq: () => conversation.lastSeq,
  isRunning: () => conversation.isRunning,
  isKnown: () => !isNew,
  onFrame: (frame) => handlers[frame.type]?.(frame),
  onBack: sendAgain,
  onState: (works) => (works ? reached() : lost()),
});

function say(type, fields) {
  return polling.isOn ? polling.say(type, fields) : socket.say(type, fields);
}

function send(text) {
  const message = { client_id: newId(), session, text };
  unsent.add(message, isNew);
  conversation.addPending(message);
  follower.toEnd();
  if (isReady || polling.isOn) say("send", message);
}

// Whatever the server has not acknowledged, in the order in which it was written.
function sendAgain() {
  for (const { refused, ...message } of unsent.of(session)) {
    conversation.addPending(message, refused);
    if (!refused) say("send", message);
  }
}

// What was refused because an answer was running; it goes when that one is finished.
const waiting = new Set();

function sendWaiting() {
  for (const { refused, ...message } of unsent.of(session)) {
    if (waiting.delete(message.client_id)) say("send", message);
  }
}

// What stands here is out of date: take the list as it is stored, then follow again from there.
async function takeStored() {
  try {
    const stored = await fetch(`/c/${session}/messages`);
    if (stored.ok) conversation.replaceAll(await stored.text());
  } catch {
    // No network: the socket ends as well, and opens the session anew when it is back.
  }
  socket.say("open", { session, last_seq: conversation.lastSeq });
  showRunning();
}

const handlers = {
  ready({ reset }) {
    if (reset) {
      takeStored();
      return;
    }
    isReady = true;
    failures = 0;
    polling.stop();
    sendAgain();
    showRunning();
  },
  ack({ client_id, message, seq }) {
    unsent.remove(client_id);
    conversation.confirm(client_id, message, seq);
    if (isNew) becomeKnown();
    showRunning();
  },
  // A command such as /new has ended the conversation: here begins another one.
  ended({ client_id }) {
    unsent.remove(client_id);
    unsent.newSession = null;
    location.assign("/");
  },
  message(frame) {
    conversation.setMessage(frame);
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
    if (frame.final) {
      sendWaiting();
      reading.tell();
    }
  },
  notice({ kind, html }) {
    if (kind === "sessions") refreshSessions();
    else composer.tell(html, { kind, bad: kind === "warning" });
  },
  error({ code, text, client_id, message }) {
    // A failed answer shows its sentence itself.
    if (message) announcer.say(text);
    else if (client_id && code === "busy") {
      waiting.add(client_id);
      conversation.waitingFor("answer", true, client_id);
    } else if (client_id) {
      unsent.refuse(client_id, text);
      conversation.refuse(client_id, text);
    } else {
      composer.tell(text, { bad: true });
      for (const button of main.querySelectorAll("[data-action]:disabled")) button.disabled = false;
    }
    showRunning();
  },
};

function showRunning() {
  composer.setRunning(conversation.isRunning);
}

// The first message has made the conversation: it has an address now, and its draft is its own.
function becomeKnown() {
  unsent.keepDraft("new", "");
  unsent.newSession = null;
  isNew = false;
  unsent.keepDraft(session, composer.value);
  history.replaceState(null, "", `/c/${session}`);
  end.action = `/c/${session}/end`;
  end.hidden = false;
  refreshSessions();
}

main.addEventListener("click", (event) => {
  const button = event.target.closest("button");
  if (!button) return;
  if (button.dataset.action === "edit") {
    const article = button.closest("article");
    const text = unsent.remove(article.dataset.clientId)?.text ?? "";
    article.remove();
    composer.value = composer.value ? `${text}\n\n${composer.value}` : text;
    composer.focus();
  } else if (button.dataset.action) {
    button.disabled = true;
    const id = button.closest("article").id.replace("message-", "");
    if (!say(button.dataset.action, { message: id })) button.disabled = false;
    composer.focus();
  } else if ("starter" in button.dataset) {
    composer.value = button.textContent.trim();
    composer.focus();
  }
});

watchSidebar(session);
watchPalette();
if (!composer.value) composer.value = unsent.draft(draftKey());
for (const { refused, ...message } of unsent.of(session)) conversation.addPending(message, refused);
showRunning();
follower.toEnd();
earlier.show(location.hash);
socket.connect();
