"""The one gate for text, wherever it comes from: socket, form, tool, model, file."""

import re

# What PostgreSQL and UTF-8 cannot hold: NUL, and halves of surrogate pairs.
UNSTORABLE = re.compile("[\x00\ud800-\udfff]")


class BadText(ValueError):
    """Text that cannot be stored. `code` is a protocol error code; the message is one sentence for the person."""

    def __init__(self, code: str, sentence: str):
        super().__init__(sentence)
        self.code, self.sentence = code, sentence


def checked(text: object, *, longest: int, name: str = "The message", may_be_blank: bool = False) -> str:
    """`text` as it is, or BadText: not a string, blank, longer than `longest` Unicode code points, or unstorable.

    Line ends become `\\n`, as every browser counts them.
    """
    if not isinstance(text, str):
        raise BadText("bad_frame", f"{name} must be text.")
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    if not text.strip() and not may_be_blank:
        raise BadText("empty", f"{name} is empty: write something first.")
    if len(text) > longest:
        raise BadText("too_long", f"{name} has {len(text):,} characters; at most {longest:,} can be sent at once.")
    if UNSTORABLE.search(text):
        raise BadText("bad_text", f"{name} contains characters that cannot be stored (NUL or half a surrogate pair).")
    return text


def mended(text: str) -> str:
    """`text` with what cannot be stored replaced by U+FFFD: for what a model or a server says."""
    return UNSTORABLE.sub("\ufffd", text)


def mended_json(value: object) -> object:
    """The same for every string inside a JSON value."""
    if isinstance(value, str):
        return mended(value)
    if isinstance(value, list):
        return [mended_json(item) for item in value]
    if isinstance(value, dict):
        return {mended(str(key)): mended_json(item) for key, item in value.items()}
    return value
