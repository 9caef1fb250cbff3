// What a person wrote and the server has not confirmed, kept in this browser: a draft a session, and messages on their way.

const DRAFT = "oneclaw:draft:";
const UNSENT = "oneclaw:unsent:";

function read(key, otherwise) {
  try {
    return JSON.parse(localStorage.getItem(key)) ?? otherwise;
  } catch {
    return otherwise;
  }
}

function write(key, value) {
  try {
    if (value && value.length) localStorage.setItem(key, JSON.stringify(value));
    else localStorage.removeItem(key);
  } catch {
    // A full or forbidden store: the page itself still holds the text.
  }
}

export class Unsent {
  // New conversations share one draft, because each has another id.
  constructor(session, isNew) {
    this.draftKey = DRAFT + (isNew ? "new" : session);
    this.unsentKey = UNSENT + session;
  }

  get draft() {
    return read(this.draftKey, "");
  }

  set draft(text) {
    write(this.draftKey, text);
  }

  get messages() {
    return read(this.unsentKey, []);
  }

  add(clientId, text) {
    write(this.unsentKey, [...this.messages.filter((message) => message.client_id !== clientId), { client_id: clientId, text }]);
  }

  remove(clientId) {
    const message = this.messages.find((one) => one.client_id === clientId);
    write(this.unsentKey, this.messages.filter((one) => one.client_id !== clientId));
    return message;
  }
}

// A UUID (version 4), also on a page that was not served over https.
export function newId() {
  if (crypto.randomUUID) return crypto.randomUUID();
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  bytes[6] = (bytes[6] & 0x0f) | 0x40;
  bytes[8] = (bytes[8] & 0x3f) | 0x80;
  const hex = [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
}
