// Keeps the end of the conversation in view while it grows, until the person scrolls up.

const NEAR_END_PX = 60;

export class Follower {
  #scroller;
  #list;
  #jump;
  #follows = true;
  #top = 0;

  /**
   * @param {HTMLElement} scroller
   * @param {HTMLElement} list
   * @param {HTMLButtonElement} jump
   */
  constructor(scroller, list, jump) {
    this.#scroller = scroller;
    this.#list = list;
    this.#jump = jump;
    scroller.addEventListener("scroll", () => this.#scrolled(), { passive: true });
    jump.addEventListener("click", () => this.toEnd());
    const observer = new ResizeObserver(() => this.#resized());
    observer.observe(list);
    observer.observe(scroller);
  }

  toEnd() {
    this.#follows = true;
    this.#jump.hidden = true;
    // The text that is shown before the first message is read from its start.
    if (!this.#list.childElementCount) return;
    this.#scroller.scrollTop = this.#scroller.scrollHeight;
  }

  /** Stay where the page scrolls to, until the person scrolls to the end. */
  stay() {
    this.#follows = false;
  }

  get #distance() {
    return this.#scroller.scrollHeight - this.#scroller.scrollTop - this.#scroller.clientHeight;
  }

  #scrolled() {
    const { scrollTop } = this.#scroller;
    if (this.#distance < NEAR_END_PX) this.#follows = true;
    // New content never scrolls up: the person did.
    else if (scrollTop < this.#top) this.#follows = false;
    this.#top = scrollTop;
    this.#jump.hidden = this.#follows;
  }

  #resized() {
    if (this.#follows) this.toEnd();
    else this.#jump.hidden = this.#distance < NEAR_END_PX;
  }
}
