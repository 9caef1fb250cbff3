// Says that a silent answer is still being worked on: from some seconds without any change of the list on, with the
// seconds since the last one.

/** @import { Announcer } from "./announcer.js" */

import { words } from "./words.js";

const SHOWN_AFTER_SECONDS = 3;

export class Working {
  #line;
  #isRunning;
  #announcer;
  #changedAt = Date.now();

  /**
   * @param {HTMLElement} list
   * @param {HTMLElement} line where it is said
   * @param {{ isRunning: () => boolean, announcer: Announcer }} options
   */
  constructor(list, line, { isRunning, announcer }) {
    this.#line = line;
    this.#isRunning = isRunning;
    this.#announcer = announcer;
    new MutationObserver(() => this.#changed()).observe(list, { childList: true, subtree: true, characterData: true });
    setInterval(() => this.#draw(), 1000);
  }

  #changed() {
    this.#changedAt = Date.now();
    this.#line.hidden = true;
  }

  #draw() {
    const seconds = Math.floor((Date.now() - this.#changedAt) / 1000);
    const isSilent = seconds >= SHOWN_AFTER_SECONDS && this.#isRunning();
    const sentence = words.working.replace("{seconds}", String(seconds));
    // It is announced once, and not each second.
    if (isSilent && this.#line.hidden) this.#announcer.say(sentence);
    this.#line.hidden = !isSilent;
    if (isSilent) this.#line.textContent = sentence;
  }
}
