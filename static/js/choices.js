// The fields for agent, space, memory, model and effort: agent and space can be chosen until the first message, the
// others at any time.

import { find } from "./dom.js";
import { words } from "./words.js";

export class Choices {
  /** @type {HTMLElement | null} */
  #agentChoice;
  /** @type {HTMLSelectElement | null} */
  #agent;
  /** @type {HTMLSelectElement | null} */
  #model;
  /** @type {HTMLSelectElement | null} */
  #effort;
  /** @type {HTMLElement | null} */
  #spaceChoice;
  /** @type {HTMLSelectElement | null} */
  #space;
  /** @type {HTMLAnchorElement | null} */
  #spaceMark;
  #main;
  #mark;
  #isFixed = false;
  // All models by name; the default of the chosen agent is listed only as such.
  /** @type {HTMLOptionElement[]} */
  #models = [];

  /** @param {HTMLElement} main */
  constructor(main) {
    this.#main = main;
    this.#agentChoice = main.querySelector("[data-agent-choice]");
    this.#agent = main.querySelector("[data-agent-choice] select");
    this.#model = main.querySelector("[data-model-choice] select");
    this.#effort = main.querySelector("[data-effort-choice] select");
    this.#spaceChoice = main.querySelector("[data-space-choice]");
    this.#space = main.querySelector("[data-space-choice] select");
    this.#spaceMark = main.querySelector("[data-space-mark]");
    this.#mark = find(main, "[data-agent-mark]", HTMLElement);
    this.#agent?.addEventListener("change", () => {
      // An agent with a model of its own selects that model.
      if (this.#model && "own" in this.#chosen.dataset) this.#model.value = "";
      this.#showModel();
    });
    this.#models = [...(this.#model?.options ?? [])].slice(1);
    for (const option of this.#models) option.hidden = option.disabled = false;
    // The browser may restore the field of a page to which the person returns.
    if (this.#agent) this.#showModel();
  }

  // The chosen values, which a message carries; only those that can be chosen.
  get value() {
    return { agent: this.#agent?.value, space: this.#space?.value || undefined, ...this.later };
  }

  // Those that may change after the first message.
  get later() {
    return { model: this.#model?.value, effort: this.#effort?.value, memory: this.#memory };
  }

  // Which memory is read, once it was chosen on this page: another page may have changed it since.
  get #memory() {
    const chosen = this.#uses?.selectedOptions[0];
    const memory = chosen?.dataset.memory;
    if (!chosen) return undefined;
    const isFirst = "new" in this.#main.dataset && !this.#isFixed;
    // The first message says what the page shows. A page that shows that memory is off says so with each.
    if (!isFirst && chosen.defaultSelected && memory !== "none") return undefined;
    for (const option of this.#uses?.options ?? []) option.defaultSelected = isFirst && option === chosen;
    return memory;
  }

  // Another one after each choice of a space.
  get #uses() {
    return /** @type {HTMLSelectElement | null} */ (this.#main.querySelector("#use"));
  }

  /** @param {{ agent?: string, space?: string, model?: string, effort?: string }} value */
  choose({ agent, space, model, effort }) {
    select(this.#space, space);
    select(this.#agent, agent);
    select(this.#model, model);
    select(this.#effort, effort);
    if (this.#agent) this.#showModel();
  }

  // Fix agent and space, because the first message was sent.
  fix() {
    this.#isFixed = true;
    this.#fixSpace();
    if (!this.#agentChoice) return;
    this.#agentChoice.hidden = true;
    this.#mark.textContent = this.#chosen.textContent;
    this.#mark.hidden = "default" in this.#chosen.dataset;
  }

  // Let agent and space be chosen again, because the first message was refused.
  release() {
    this.#isFixed = false;
    if (this.#spaceChoice) {
      this.#spaceChoice.hidden = false;
      if (this.#spaceMark) this.#spaceMark.hidden = true;
    }
    if (!this.#agentChoice) return;
    this.#agentChoice.hidden = false;
    this.#mark.hidden = true;
  }

  #fixSpace() {
    if (!this.#spaceChoice || !this.#space || !this.#spaceMark) return;
    this.#spaceChoice.hidden = true;
    this.#spaceMark.textContent = this.#space.selectedOptions[0].textContent;
    this.#spaceMark.href = `/spaces/${this.#space.value}/`;
    this.#spaceMark.hidden = !this.#space.value;
  }

  #showModel() {
    if (!this.#model) return;
    const { model = "", modelName } = this.#chosen.dataset;
    const [standard] = this.#model.options;
    const { value } = this.#model;
    standard.textContent = words.defaultModel.replace("{model}", model);
    this.#model.replaceChildren(standard, ...this.#models.filter((option) => option.value !== modelName));
    this.#model.value = value === modelName ? "" : value;
  }

  get #chosen() {
    return /** @type {HTMLSelectElement} */ (this.#agent).selectedOptions[0];
  }
}

/**
 * @param {HTMLSelectElement | null} field
 * @param {string} [value]
 */
function select(field, value) {
  if (field && value !== undefined && [...field.options].some((option) => option.value === value)) field.value = value;
}
