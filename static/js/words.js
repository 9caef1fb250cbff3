// What the script says, as the page holds it in the person's language.
import { find } from "./dom.js";

export const words = /** @type {Record<string, string>} */ (find(document, "#words", HTMLElement).dataset);
