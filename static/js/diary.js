// The page of a day: its slider, and what is in the prose of its notes.

import "./past.js";
import "./prose.js";
