// Renders the messages that the server has not acknowledged from the state, at the end of the list, each with its status.
// A queued message can be removed, a refused one edited.

/** @import { Announcer } from "./announcer.js" */
/** @import { Pending } from "./session_types.js" */

import { attachedList } from "./attachments.js";
import { words } from "./words.js";

// Most messages are acknowledged sooner; the status is shown only after this time.
const SENDING_SHOWN_AFTER_MS = 600;

export class PendingList {
  #list;
  #announcer;
  /** @type {Map<string, { article: HTMLElement, note: HTMLElement, stage: string, says: string, isFresh: boolean }>} */
  #drawn = new Map();

  /**
   * @param {HTMLElement} list
   * @param {Announcer} announcer
   */
  constructor(list, announcer) {
    this.#list = list;
    this.#announcer = announcer;
  }

  /**
   * @param {ReadonlyMap<string, Pending>} pending
   * @param {boolean} isLost whether there is no connection
   */
  draw(pending, isLost) {
    for (const [clientId, { article }] of this.#drawn) {
      if (pending.has(clientId)) continue;
      article.remove();
      this.#drawn.delete(clientId);
    }
    for (const entry of pending.values()) this.#drawOne(entry, isLost);
  }

  /**
   * Return the article of a message that was acknowledged, which belongs to the list from now on.
   * @param {string} clientId
   */
  release(clientId) {
    const drawn = this.#drawn.get(clientId);
    this.#drawn.delete(clientId);
    drawn?.note.remove();
    delete drawn?.article.dataset.clientId;
    return drawn?.article ?? null;
  }

  /**
   * @param {Pending} entry
   * @param {boolean} isLost
   */
  #drawOne(entry, isLost) {
    const { message, stage, refusal } = entry;
    const drawn = this.#drawn.get(message.client_id) ?? this.#append(entry);
    const waits = { said: drawn.isFresh ? "" : words.sending, queued: words.queued };
    const says = stage === "refused" ? refusal : isLost ? words.waits : waits[stage];
    if (says === drawn.says && stage === drawn.stage) return;
    Object.assign(drawn, { says, stage, isFresh: false });
    drawn.note.replaceChildren(says);
    if (stage !== "said") drawn.note.append(quietButton("edit", words.edit));
    if (stage === "queued") drawn.note.append(quietButton("remove", words.remove));
    drawn.article.classList.toggle("message--refused", stage === "refused");
    if (stage === "refused") this.#announcer.say(refusal);
  }

  /** @param {Pending} entry */
  #append({ message: { client_id, text, pasted = [], files = [] } }) {
    const article = document.createElement("article");
    article.className = "message message--user message--pending";
    article.dataset.clientId = client_id;
    article.setAttribute("aria-label", words.you);
    const said = document.createElement("div");
    said.className = "said";
    said.textContent = text;
    if (pasted.length) said.dataset.pasted = JSON.stringify(pasted);
    const note = document.createElement("p");
    note.className = "message__note";
    if (files.length) article.append(attachedList(files));
    article.append(said, note);
    this.#list.append(article);
    const drawn = { article, note, stage: "said", says: "", isFresh: true };
    this.#drawn.set(client_id, drawn);
    setTimeout(() => {
      if (!drawn.isFresh) return;
      drawn.isFresh = false;
      note.textContent = drawn.says = words.sending;
    }, SENDING_SHOWN_AFTER_MS);
    return drawn;
  }
}

/**
 * @param {string} action
 * @param {string} word
 */
function quietButton(action, word) {
  const button = document.createElement("button");
  button.type = "button";
  button.className = "button button--quiet button--small";
  button.dataset.action = action;
  button.textContent = word;
  return button;
}
