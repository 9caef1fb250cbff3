// The sentences of the scripts, which the page contains in the person's language.
import { find } from "./dom.js";

export const words = /** @type {Record<string, string>} */ (find(document, "#words", HTMLElement).dataset);
