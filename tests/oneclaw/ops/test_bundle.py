"""One file is made of a script or a style sheet and all that it imports; what is not understood is refused."""

import pytest

from oneclaw.ops.bundle import BundleError, bundled

SCRIPTS = {
    "js/page.js": (
        'import "./first.js";\nimport { add, Counter as Count } from "./part.js";\n'
        "const count = new Count();\nexport const sum = add(count.next(), await Promise.resolve(2));\n"
    ),
    "js/first.js": 'import "./one.js";\nconst count = 5;\n',
    "js/part.js": (
        'import {\n  one,\n} from "./one.js";\nexport async function add(a, b) {\n  return a + b;\n}\n'
        "/**\n * Count.\n * @import { one } from './one.js'\n */\n"
        "export class Counter {\n  // Always the same.\n  next() {\n    return one; // one\n  }\n}\n"
    ),
    "js/one.js": "/** One. */\nexport const one = 1;\n",
}
BUNDLE = """\
const $one = (() => {
/** One. */
const one = 1;

return { one };
})();
const $first = (() => {

const count = 5;

return {  };
})();
const $part = (() => {
const { one } = $one;
async function add(a, b) {
  return a + b;
}
/**
 * Count.
 * @import { one } from './one.js'
 */
class Counter {
  // Always the same.
  next() {
    return one; // one
  }
}

return { add, Counter };
})();

const { add, Counter: Count } = $part;
const count = new Count();
export const sum = add(count.next(), await Promise.resolve(2));
"""
STYLES = {
    "css/all.css": '/* All. */\n@import url("one.css");\n@import url("../two.css");\n',
    "css/one.css": '@font-face { src: url("../fonts/a.woff2"); }\n',
    "two.css": "p { margin: 0 }\n",
}


def test_a_script_has_what_it_imports_once_before_it_and_goes_on_to_export():
    assert bundled("js/page.js", SCRIPTS.__getitem__) == BUNDLE


def test_a_file_that_imports_nothing_stays_as_it_is():
    assert bundled("js/one.js", SCRIPTS.__getitem__) is None
    assert bundled("two.css", STYLES.__getitem__) is None
    assert bundled("icon.svg", {}.__getitem__) is None


def test_a_style_sheet_has_those_that_it_imports_in_their_order():
    assert bundled("css/all.css", STYLES.__getitem__) == f"/* All. */\n{STYLES['css/one.css']}\n{STYLES['two.css']}\n"


@pytest.mark.parametrize(
    "text",
    [
        'import { a } from "./a.js";\nimport * as b from "./a.js";\n',
        'import { a } from "./a.js";\nexport default a;\n',
        'import { a } from "./a.js";\nexport { a };\n',
        'import { a } from "./a.js";\nexport let b = a;\n',
        'import { a } from "./a.js";\nexport { a } from "./a.js";\n',
        'import { b } from "./b.js";\n',
        'import { page } from "./page.js";\n',
        'import { a } from "./a.js";\nimport { d } from "../d.js";\n',
    ],
)
def test_what_is_not_understood_is_refused(text):
    files = {"page.js": text, "a.js": "export const a = 1;\n"}
    files["b.js"] = 'import { page } from "./page.js";\nexport const b = page;\n'
    with pytest.raises(BundleError):
        bundled("page.js", files.__getitem__)


def test_a_style_sheet_of_another_folder_names_no_files():
    files = STYLES | {"two.css": 'p { background: url("a.png") }\n'}
    with pytest.raises(BundleError):
        bundled("css/all.css", files.__getitem__)
