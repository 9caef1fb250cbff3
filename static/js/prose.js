// What a page needs that shows Markdown: formulas are set, footnotes lead to their notes.

import "./math.js";
import "./notes.js";
