"""The one gate for text, wherever it comes from: socket, form, tool, model, file."""

import re
from collections.abc import Mapping
from typing import Any

from django.utils.formats import number_format
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

# What a text is called, in a sentence that begins with it, unless its caller has a word for it.
MESSAGE = _("The message")
# What PostgreSQL and UTF-8 cannot hold: NUL, and halves of surrogate pairs.
UNSTORABLE = re.compile("[\x00\ud800-\udfff]")


# A sentence, or one that is looked up in the language of whoever reads it.
Words = str | Promise


class Told(Exception):
    """Something that a person is told: `words` with what is named put into them.

    The sentence is made anew whenever it is asked for, in the language of whoever asks.
    """

    words: Words = ""

    def __init__(self, words: Words | None = None, **named: Any) -> None:
        super().__init__()
        self.named = named
        if words is not None:
            self.words = words

    @property
    def sentence(self) -> str:
        return str(self.words) % formatted(self.named) if self.named else str(self.words)

    def __str__(self) -> str:
        return self.sentence


class BadText(Told, ValueError):
    """Text that cannot be stored. `code` is a protocol error code; the sentence is for the person."""

    def __init__(self, code: str, words: Words, **named: Any) -> None:
        super().__init__(words, **named)
        self.code = code


def checked(text: object, *, longest: int, name: Words = MESSAGE, may_be_blank: bool = False) -> str:
    """`text` as it is, or BadText: not a string, blank, longer than `longest` Unicode code points, or unstorable.

    Line ends become `\\n`, as every browser counts them.
    """
    if not isinstance(text, str):
        raise BadText("bad_frame", _("%(name)s must be text."), name=name)
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    if not text.strip() and not may_be_blank:
        raise BadText("empty", _("%(name)s is empty: write something first."), name=name)
    if len(text) > longest:
        words = _("%(name)s has %(length)s characters; at most %(longest)s can be sent at once.")
        raise BadText("too_long", words, name=name, length=len(text), longest=longest)
    if UNSTORABLE.search(text):
        words = _("%(name)s contains characters that cannot be stored (NUL or half a surrogate pair).")
        raise BadText("bad_text", words, name=name)
    return text


def counted(number: int) -> str:
    """A number as the reader's language writes it: 16,000 or 16.000."""
    return number_format(number, force_grouping=True)


class _Number(int):
    """A number inside a sentence: %(name)s writes it as the reader's language does, %(name)d without marks."""

    def __str__(self) -> str:
        return counted(int(self))


def formatted(params: Mapping[str, Any]) -> dict[str, Any]:
    """Return parameters of a sentence with their numbers written in the reader's language."""
    return {name: _formatted(value) for name, value in params.items()}


def _formatted(value: Any) -> Any:
    if isinstance(value, float):
        return number_format(value)
    return _Number(value) if type(value) is int else value


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
