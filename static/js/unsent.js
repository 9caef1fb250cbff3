// What a person wrote and the server has not acknowledged, kept in this browser: drafts, and messages on their way.

export class Unsent {
  #prefix;

  // Each person of this browser has their own.
  constructor(person) {
    this.#prefix = `oneclaw:${person}:`;
  }

  draft(key) {
    return this.#read(`draft:${key}`, "");
  }

  keepDraft(key, text) {
    this.#write(`draft:${key}`, text);
  }

  // The id of a conversation whose first message is still on its way.
  get newSession() {
    return this.#read("new", null);
  }

  set newSession(id) {
    this.#write("new", id);
  }

  // {client_id, session, text, refused?: why}, oldest first.
  of(session) {
    return this.#messages.filter((message) => message.session === session);
  }

  add(message, isNew) {
    this.#messages = [...this.#messages, message];
    if (isNew) this.newSession = message.session;
  }

  refuse(clientId, sentence) {
    this.#messages = this.#messages.map((message) =>
      message.client_id === clientId ? { ...message, refused: sentence } : message,
    );
  }

  // The message that was removed, if there was one.
  remove(clientId) {
    const messages = this.#messages;
    const found = messages.find((message) => message.client_id === clientId);
    if (found) this.#messages = messages.filter((message) => message !== found);
    return found;
  }

  get #messages() {
    return this.#read("messages", []);
  }

  set #messages(messages) {
    this.#write("messages", messages);
  }

  #read(key, otherwise) {
    try {
      return JSON.parse(localStorage.getItem(this.#prefix + key)) ?? otherwise;
    } catch {
      return memory.get(key) ?? otherwise;
    }
  }

  #write(key, value) {
    memory.set(key, value);
    try {
      if (value?.length) localStorage.setItem(this.#prefix + key, JSON.stringify(value));
      else localStorage.removeItem(this.#prefix + key);
    } catch {
      // A full or forbidden store: it lives as long as the page.
    }
  }
}

const memory = new Map();

// A UUID (version 4), also on a page that was not served over https.
export function newId() {
  if (crypto.randomUUID) return crypto.randomUUID();
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  bytes[6] = (bytes[6] & 0x0f) | 0x40;
  bytes[8] = (bytes[8] & 0x3f) | 0x80;
  const hex = [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
}
