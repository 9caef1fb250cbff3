// The page of a shared link: code blocks, formulas and footnotes work as in the chat.

import "./code.js";
import "./prose.js";
import { watchActions } from "./actions.js";
import { Announcer } from "./announcer.js";
import { find } from "./dom.js";

const announcer = new Announcer(find(document, "[data-announcer]", HTMLElement));
/** @param {string} sentence */
const say = (sentence) => announcer.say(sentence);

watchActions(find(document, "#main", HTMLElement), null, { tell: say, announce: say });
