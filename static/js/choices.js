// Who answers: the agent is chosen until the first message, the model at any time.

import { words } from "./words.js";

export class Choices {
  #agentChoice;
  #agent;
  #model;
  #mark;

  constructor(main) {
    this.#agentChoice = main.querySelector("[data-agent-choice]");
    this.#agent = this.#agentChoice?.querySelector("select");
    this.#model = main.querySelector("[data-model-choice] select");
    this.#mark = main.querySelector("[data-agent-mark]");
    this.#agent?.addEventListener("change", () => {
      // An agent with a model of its own begins with that.
      if (this.#model && "own" in this.#agent.selectedOptions[0].dataset) this.#model.value = "";
      this.#showModel();
    });
    // What the browser had kept in the field of a page that one comes back to.
    if (this.#agent) this.#showModel();
  }

  // What a message names: what there is to choose.
  get value() {
    return { agent: this.#agent?.value, model: this.#model?.value };
  }

  choose({ agent, model }) {
    for (const [select, value] of [[this.#agent, agent], [this.#model, model]]) {
      if (select && [...select.options].some((option) => option.value === value)) select.value = value;
    }
    if (this.#agent) this.#showModel();
  }

  // The first message is on its way: another agent answers in another conversation.
  settle() {
    if (!this.#agent) return;
    const chosen = this.#agent.selectedOptions[0];
    this.#agentChoice.hidden = true;
    this.#mark.textContent = chosen.textContent;
    this.#mark.hidden = "default" in chosen.dataset;
  }

  // It was refused, because of what was chosen.
  unsettle() {
    if (!this.#agent) return;
    this.#agentChoice.hidden = false;
    this.#mark.hidden = true;
  }

  #showModel() {
    if (!this.#model) return;
    const { model } = this.#agent.selectedOptions[0].dataset;
    this.#model.options[0].textContent = words.defaultModel.replace("{model}", model);
  }
}
