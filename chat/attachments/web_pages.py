"""Read the text of an HTML page: headings and list items marked as in Markdown, cells between tabs."""

import codecs
import re
from html.parser import HTMLParser

CHARSET = re.compile(rb"<meta[^>]{1,200}?charset\s*=\s*[\"']?([\w-]{2,40})", re.IGNORECASE)
# Where a page names its encoding.
HEAD_BYTES = 4096
HIDDEN = frozenset({"script", "style", "template", "noscript", "svg", "iframe", "object", "select"})
BLOCKS = frozenset(
    """address article aside blockquote body dd details div dl dt fieldset figcaption figure footer form header hr html
    main nav ol p pre section summary table tbody tfoot thead title ul""".split()  # noqa: SIM905
)
HEADINGS = {f"h{level}": "#" * level + " " for level in range(1, 7)}


def text_of_page(data: bytes) -> str:
    """Return the text of the HTML page `data`, without scripts, styles and addresses of links."""
    page = _Page()
    page.feed(decoded(data))
    page.close()
    lines = (line.strip(" ") for line in "".join(page.parts).split("\n"))
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip()


def decoded(data: bytes) -> str:
    """Return the text of `data` in the encoding that the page names, or else in UTF-8 or Windows-1252."""
    found = CHARSET.search(data[:HEAD_BYTES])
    for name in (found[1].decode() if found else "utf-8", "utf-8"):
        try:
            return data.decode(codecs.lookup(name).name)
        except (LookupError, UnicodeDecodeError):
            continue
    return data.decode("cp1252", "replace")


class _Page(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.parts: list[str] = []
        self._hidden_depth = self._pre_depth = 0

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        if tag in HIDDEN:
            self._hidden_depth += 1
        elif tag in HEADINGS:
            self.parts.append("\n\n" + HEADINGS[tag])
        elif tag == "li":
            self.parts.append("\n- ")
        elif tag in ("br", "tr"):
            self.parts.append("\n")
        elif tag in BLOCKS:
            self.parts.append("\n\n")
        self._pre_depth += tag == "pre"

    def handle_endtag(self, tag: str) -> None:
        if tag in HIDDEN:
            self._hidden_depth = max(0, self._hidden_depth - 1)
        elif tag in ("td", "th"):
            self.parts.append("\t")
        elif tag in BLOCKS or tag in HEADINGS:
            self.parts.append("\n\n")
        self._pre_depth = max(0, self._pre_depth - (tag == "pre"))

    def handle_data(self, text: str) -> None:
        if not self._hidden_depth:
            self.parts.append(text if self._pre_depth else re.sub(r"\s+", " ", text))
