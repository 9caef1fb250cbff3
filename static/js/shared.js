// The page of a shared link: code is copied and unfolded there as in the chat, formulas are set, footnotes lead to their notes.

import "./code.js";
import "./prose.js";
import { watchActions } from "./actions.js";
import { Announcer } from "./announcer.js";
import { find } from "./dom.js";

const announcer = new Announcer(find(document, "[data-announcer]", HTMLElement));
/** @param {string} sentence */
const say = (sentence) => announcer.say(sentence);

watchActions(find(document, "#main", HTMLElement), null, { tell: say, announce: say });
