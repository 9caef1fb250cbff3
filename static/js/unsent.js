// Keeps what the server has not acknowledged in this browser's storage: drafts, drafts of edits, and unsent messages.

/** @import { AttachedFile } from "./frames.js" */
/** @import { Range } from "./pasted.js" */
/** @import { Kept, Message } from "./session_types.js" */

/**
 * A stored message: `at` gives the order, `isNew` says that the server does not know the conversation yet.
 * @typedef {Kept & { isNew: boolean, at: number }} Entry
 *
 * A text that is not sent yet, and what of it was pasted, in code points.
 * @typedef {{ text: string, pasted: Range[] }} Draft
 */

export class Unsent {
  #prefix;
  // A fallback for what the browser's storage refuses; it lives as long as the page.
  /** @type {Map<string, any>} */
  #kept = new Map();
  #isHeld = false;
  /** @type {(value?: unknown) => void} */
  #release = () => {};

  // Each person who uses this browser has their own messages.
  /** @param {string} person */
  constructor(person) {
    this.#prefix = `oneclaw:${person}:`;
  }

  /**
   * Return the draft of this tab, or one that another tab left.
   * @param {string} key
   * @returns {Draft}
   */
  draft(key) {
    return draftOf(this.#read(sessionStore, `draft:${key}`) ?? this.#read(localStore, `draft:${key}`));
  }

  /**
   * @param {string} key
   * @param {string} text
   * @param {Range[]} [pasted]
   */
  keepDraft(key, text, pasted = []) {
    for (const store of [sessionStore, localStore]) this.#write(store, `draft:${key}`, text && { text, pasted });
  }

  /**
   * Return the files that were attached to the draft.
   * @param {string} key
   * @returns {AttachedFile[]}
   */
  draftFiles(key) {
    return this.#read(sessionStore, `files:${key}`) ?? this.#read(localStore, `files:${key}`) ?? [];
  }

  /**
   * @param {string} key
   * @param {AttachedFile[]} files
   */
  keepDraftFiles(key, files) {
    for (const store of [sessionStore, localStore]) this.#write(store, `files:${key}`, files.length ? files : "");
  }

  /**
   * Return the drafts of edits in this conversation, by the name of the message.
   * @param {string} session
   * @returns {Record<string, Draft>}
   */
  edits(session) {
    const found = this.#under(`edit:${session}:`);
    return Object.fromEntries(found.map((name) => [name, draftOf(this.#read(localStore, `edit:${session}:${name}`))]));
  }

  /**
   * @param {string} session
   * @param {string} name
   * @param {Draft | null} draft null removes it
   */
  keepEdit(session, name, draft) {
    this.#write(localStore, `edit:${session}:${name}`, draft?.text && draft);
  }

  /**
   * Return the messages of this conversation, oldest first.
   * @param {string} session
   * @returns {Kept[]}
   */
  of(session) {
    const found = this.#messages().filter(({ message }) => message.session === session);
    return found.map(({ message, refused }) => ({ message, refused }));
  }

  // `isNew`: the server does not know this conversation before its first message.
  /**
   * @param {Message} message
   * @param {boolean} isNew
   */
  add(message, isNew) {
    const newest = this.#messages().at(-1)?.at ?? 0;
    this.#keep({ message, isNew, refused: "", at: Math.max(Date.now(), newest + 1) });
    if (isNew) this.#isMine(message.session);
  }

  // Return a new conversation with an unsent message: that of this tab before a reload, or else the oldest one that no
  // other open tab shows; null if there is none.
  async takeUp() {
    const fresh = this.#messages().filter(({ isNew }) => isNew);
    const sessions = [...new Set(fresh.map(({ message }) => message.session))];
    const mine = this.#read(sessionStore, "new");
    let found = sessions.includes(mine) ? mine : null;
    for (const session of sessions) if (!found && (await this.#isFree(session))) found = session;
    if (found) this.#isMine(found);
    return found;
  }

  // Record that the server knows this conversation.
  /** @param {string} session */
  becameKnown(session) {
    for (const entry of this.#messages()) if (entry.message.session === session) this.#keep({ ...entry, isNew: false });
    this.#write(sessionStore, "new", "");
    this.#release();
  }

  // Return the message as it was first sent; undefined when it is not stored.
  /** @param {string} clientId */
  message(clientId) {
    return this.#find(clientId)?.message;
  }

  /**
   * @param {string} clientId
   * @param {string} sentence
   */
  refuse(clientId, sentence) {
    const entry = this.#find(clientId);
    if (entry) this.#keep({ ...entry, refused: sentence });
  }

  // Move a message whose conversation was deleted to a new conversation: to `session` if this page shows it.
  /**
   * @param {string} clientId
   * @param {string} sentence
   * @param {string} [session]
   */
  refuseHomeless(clientId, sentence, session = newId()) {
    const entry = this.#find(clientId);
    if (entry) this.#keep({ ...entry, message: { ...entry.message, session }, isNew: true, refused: sentence });
  }

  // Return the other conversations, known to the server now or earlier, that have unsent messages or drafts of edits.
  /** @param {string} session */
  others(session) {
    const known = this.#messages().filter(({ isNew }) => !isNew);
    const edited = this.#under("edit:").map((name) => name.split(":")[0]);
    const found = new Set([...known.map(({ message }) => message.session), ...edited]);
    found.delete(session);
    return [...found];
  }

  // Turn the drafts of edits in a deleted conversation into unsent messages.
  /** @param {string} session */
  sendEdits(session) {
    for (const [name, { text, pasted }] of Object.entries(this.edits(session))) {
      this.keepEdit(session, name, null);
      this.add({ client_id: newId(), session, text, pasted }, false);
    }
  }

  /** @param {string} clientId */
  remove(clientId) {
    this.#write(localStore, `message:${clientId}`, "");
  }

  // Lock the conversation, so that another page does not restore it while this one shows it. Without locks in the browser
  // both show it: the ids are the same, so nothing is stored twice.
  /** @param {string} session */
  #isMine(session) {
    if (this.#isHeld) return;
    this.#write(sessionStore, "new", session);
    this.#isHeld = true;
    navigator.locks?.request(this.#prefix + session, () => new Promise((release) => (this.#release = release)));
  }

  /** @param {string} session */
  async #isFree(session) {
    return !navigator.locks || navigator.locks.request(this.#prefix + session, { ifAvailable: true }, (lock) => lock !== null);
  }

  /**
   * @param {string} clientId
   * @returns {Entry | null}
   */
  #find(clientId) {
    return this.#read(localStore, `message:${clientId}`);
  }

  // Each message has its own key, so that two tabs that write at once do not overwrite each other.
  /** @param {Entry} entry */
  #keep(entry) {
    this.#write(localStore, `message:${entry.message.client_id}`, entry);
  }

  #messages() {
    const entries = this.#under("message:").map((clientId) => this.#find(clientId));
    return entries.flatMap((entry) => (entry?.message ? [entry] : [])).sort((one, other) => one.at - other.at);
  }

  // Return the keys with this prefix, without it.
  /** @param {string} prefix */
  #under(prefix) {
    const start = this.#prefix + prefix;
    const keys = new Set([...keysOf(localStore), ...this.#kept.keys()]);
    return [...keys].filter((key) => key.startsWith(start)).map((key) => key.slice(start.length));
  }

  /**
   * @param {() => Storage} store
   * @param {string} key
   * @returns {any}
   */
  #read(store, key) {
    const name = this.#prefix + key;
    if (this.#kept.has(name)) return this.#kept.get(name);
    try {
      return JSON.parse(store().getItem(name) ?? "null");
    } catch {
      return null;
    }
  }

  /**
   * @param {() => Storage} store
   * @param {string} key
   * @param {unknown} value
   */
  #write(store, key, value) {
    const name = this.#prefix + key;
    this.#kept.delete(name);
    try {
      if (value) store().setItem(name, JSON.stringify(value));
      else store().removeItem(name);
    } catch {
      // Storage is full or forbidden.
      if (value) this.#kept.set(name, value);
    }
  }
}

/**
 * @param {Draft | string | null} kept a text alone: by an earlier release, which did not know what was pasted
 * @returns {Draft}
 */
function draftOf(kept) {
  return typeof kept === "string" ? { text: kept, pasted: [] } : (kept ?? { text: "", pasted: [] });
}

// A browser that forbids storage throws when it is accessed.
const localStore = () => localStorage;
const sessionStore = () => sessionStorage;

/** @param {() => Storage} store */
function keysOf(store) {
  try {
    return Object.keys(store());
  } catch {
    return [];
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
