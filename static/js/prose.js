// What every page with Markdown needs: formulas and footnotes.

import "./math.js";
import "./notes.js";
