// The chat page: frames in, frames out.

import { Composer } from "./composer.js";
import { Conversation } from "./conversation.js";
import { drawer } from "./drawer.js";
import { Socket } from "./socket.js";
import { Unsent, newId } from "./unsent.js";

const main = document.querySelector("[data-session]");
const session = main.dataset.session;
const find = (name) => main.querySelector(`[data-${name}]`);
let isNew = main.dataset.new === "true";
let unsent = new Unsent(session, isNew);

const conversation = new Conversation({
  scroller: find("scroller"),
  list: find("messages"),
  welcome: find("welcome"),
  jump: find("jump"),
  announcer: find("announcer"),
});

const composer = new Composer(find("composer"), {
  longest: Number(main.dataset.longest),
  onSend(text) {
    const clientId = newId();
    unsent.add(clientId, text);
    conversation.addPending(clientId, text);
    say(clientId, text);
    composer.setRunning(true);
  },
  onStop: () => socket.say("stop", { message: null }),
  onDraft: (text) => (unsent.draft = text),
});

const connection = find("connection");
let lostAt = null;

const socket = new Socket({
  onOpen() {
    // A new conversation has no row before its first message; its id is the page's all the same.
    socket.say("open", { session, last_seq: conversation.lastSeq });
  },
  onFrame: (frame) => handlers[frame.type]?.(frame),
  onState(state) {
    clearTimeout(lostAt);
    if (state === "open") connection.textContent = "";
    else lostAt = setTimeout(() => (connection.textContent = "Connecting again …"), 1500);
  },
});

function say(clientId, text) {
  socket.say("send", { client_id: clientId, session, text });
}

const handlers = {
  ready({ reset }) {
    if (reset) conversation.clear();
    for (const { client_id, text } of unsent.messages) {
      conversation.addPending(client_id, text);
      say(client_id, text);
    }
    composer.setRunning(conversation.running !== null || unsent.messages.length > 0);
  },
  ack({ client_id, message }) {
    unsent.remove(client_id);
    conversation.confirmPending(client_id, message);
    if (isNew) becomeKnown();
    composer.showError("");
  },
  message(frame) {
    conversation.setMessage(frame);
    composer.setRunning(conversation.running !== null);
  },
  block: (frame) => conversation.setBlock(frame),
  tool: (frame) => conversation.setTool(frame),
  done(frame) {
    conversation.settle(frame);
    if (frame.final) {
      composer.setRunning(conversation.running !== null);
      composer.showError("");
    }
  },
  notice({ kind, html }) {
    if (kind === "sessions") document.body.dispatchEvent(new Event("sessions-changed"));
    else composer.showError(html);
  },
  error({ code, text, client_id, message }) {
    // A failed answer carries its sentence itself.
    if (message) return;
    const refused = client_id && unsent.remove(client_id);
    if (refused) {
      conversation.dropPending(client_id);
      if (!composer.value) composer.value = refused.text;
    }
    composer.showError(text);
    composer.setRunning(conversation.running !== null);
    if (code === "not_found" && !client_id && !isNew) location.assign("/");
  },
};

// The first message has made the conversation: it has an address and a place in the list now.
function becomeKnown() {
  isNew = false;
  const draft = unsent.draft;
  unsent.draft = "";
  unsent = new Unsent(session, false);
  unsent.draft = draft;
  history.replaceState(null, "", `/c/${session}`);
  document.body.dispatchEvent(new Event("sessions-changed"));
}

main.addEventListener("click", (event) => {
  const button = event.target.closest("[data-action]");
  if (button) {
    const id = button.closest("article").id.replace("message-", "");
    socket.say(button.dataset.action, { message: id });
    button.disabled = true;
    composer.focus();
  }
  const starter = event.target.closest("[data-starter]");
  if (starter) {
    composer.value = starter.textContent.trim();
    composer.focus();
  }
});

// htmx puts the form for another title in place; its text is ready to be written over.
document.body.addEventListener("htmx:afterSwap", () => document.querySelector("[data-select]")?.select());

drawer(document.querySelector("[data-drawer]"));
if (!composer.value) composer.value = unsent.draft;
composer.setRunning(conversation.running !== null);
socket.connect();
