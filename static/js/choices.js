// The fields for agent, model and effort: the agent can be chosen until the first message, the others at any time.

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
  #mark;
  // All models by name; the default of the chosen agent is listed only as such.
  /** @type {HTMLOptionElement[]} */
  #models = [];

  /** @param {HTMLElement} main */
  constructor(main) {
    this.#agentChoice = main.querySelector("[data-agent-choice]");
    this.#agent = main.querySelector("[data-agent-choice] select");
    this.#model = main.querySelector("[data-model-choice] select");
    this.#effort = main.querySelector("[data-effort-choice] select");
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
    return { agent: this.#agent?.value, ...this.later };
  }

  // Those that may change after the first message.
  get later() {
    return { model: this.#model?.value, effort: this.#effort?.value };
  }

  /** @param {{ agent?: string, model?: string, effort?: string }} value */
  choose({ agent, model, effort }) {
    select(this.#agent, agent);
    select(this.#model, model);
    select(this.#effort, effort);
    if (this.#agent) this.#showModel();
  }

  // Fix the agent, because the first message was sent.
  fix() {
    if (!this.#agentChoice) return;
    this.#agentChoice.hidden = true;
    this.#mark.textContent = this.#chosen.textContent;
    this.#mark.hidden = "default" in this.#chosen.dataset;
  }

  // Let the agent be chosen again, because the first message was refused.
  release() {
    if (!this.#agentChoice) return;
    this.#agentChoice.hidden = false;
    this.#mark.hidden = true;
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
