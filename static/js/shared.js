// The page of a shared link: code is copied and unfolded there as in the chat, formulas are set, footnotes lead to their notes.

import "./code.js";
import "./prose.js";
import { watchActions } from "./actions.js";
import { Announcer } from "./announcer.js";

const announcer = new Announcer(document.querySelector("[data-announcer]"));
const say = (sentence) => announcer.say(sentence);

watchActions(document.getElementById("main"), null, { tell: say, announce: say });
