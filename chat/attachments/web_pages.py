"""Read the text of an HTML page: headings and list items marked as in Markdown, cells between tabs."""

import contextlib
import re
from html.parser import HTMLParser

from chat.attachments.encodings import BYTE_ORDER_MARKS, decode_text

CHARSET = re.compile(rb"<meta[^>]{1,200}?charset\s*=\s*[\"']?([\w-]{2,40})", re.IGNORECASE)
# Where a page names its encoding.
HEAD_BYTES = 4096
# What browsers read for these names, which pages give for encodings of Windows (WHATWG Encoding).
WINDOWS_NAMES = {
    **dict.fromkeys(("iso-8859-1", "latin1", "us-ascii"), "cp1252"),
    **dict.fromkeys(("shift_jis", "shift-jis", "sjis", "x-sjis", "windows-31j"), "cp932"),
    **dict.fromkeys(("gb2312", "gbk", "gb_2312-80", "x-gbk"), "gb18030"),
    **dict.fromkeys(("euc-kr", "ks_c_5601-1987", "windows-949"), "cp949"),
    **dict.fromkeys(("big5", "x-x-big5"), "big5hkscs"),
    **dict.fromkeys(("utf-16", "utf-16le", "utf-16be"), "utf-8"),
}
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
    """Return the text of `data` in the encoding that the page names, or else in the one that it seems to have.

    Raise EncodingUnknownError or NoTextError.
    """
    if not data.isascii() and not data.startswith(tuple(mark for mark, _ in BYTE_ORDER_MARKS)):
        with contextlib.suppress(UnicodeDecodeError):
            return data.decode()
    if found := CHARSET.search(data[:HEAD_BYTES]):
        with contextlib.suppress(LookupError, UnicodeError):
            return data.decode(WINDOWS_NAMES.get(found[1].decode().lower(), found[1].decode()))
    return decode_text(data)


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
