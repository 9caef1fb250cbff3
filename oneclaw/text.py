"""Validate text from outside (sockets, forms, tools, models, files), and format the numbers of sentences."""

import re
from collections.abc import Mapping
from typing import Any

from django.utils.formats import number_format
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

# The subject of the sentence when a caller of `validated_text` gives no name.
DEFAULT_NAME = _("The message")
# What PostgreSQL and UTF-8 cannot hold: NUL, and halves of surrogate pairs.
UNSTORABLE = re.compile("[\x00\ud800-\udfff]")


# A sentence, or a lazy translation of one.
StrOrPromise = str | Promise


class UserFacingError(Exception):
    """A failure with a sentence for the person: `wording`, with `named` as its parameters.

    The sentence is translated each time it is read, into the language that is active then.
    """

    wording: StrOrPromise = ""

    def __init__(self, wording: StrOrPromise | None = None, **named: Any) -> None:
        super().__init__()
        self.named = named
        if wording is not None:
            self.wording = wording

    @property
    def sentence(self) -> str:
        """Return the sentence in the active language."""
        return str(self.wording) % formatted_params(self.named) if self.named else str(self.wording)

    def __str__(self) -> str:
        return self.sentence


class InvalidTextError(UserFacingError, ValueError):
    """A text that cannot be accepted. `code` is an error code of docs/protocol.md."""

    def __init__(self, code: str, wording: StrOrPromise, **named: Any) -> None:
        super().__init__(wording, **named)
        self.code = code


def validated_text(
    text: object, *, max_chars: int, name: StrOrPromise = DEFAULT_NAME, may_be_blank: bool = False
) -> str:
    """Return `text` with its line ends as `\\n`, which is how browsers count them.

    Raise InvalidTextError when it is not a string, is blank (unless `may_be_blank`), has more than `max_chars` Unicode
    code points, or has characters that cannot be stored. `name` is the subject of the error's sentence.
    """
    if not isinstance(text, str):
        raise InvalidTextError("bad_frame", _("%(name)s must be text."), name=name)
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    if not text.strip() and not may_be_blank:
        raise InvalidTextError("empty", _("%(name)s is empty: write something first."), name=name)
    if len(text) > max_chars:
        wording = _("%(name)s has %(length)s characters; at most %(longest)s can be sent at once.")
        raise InvalidTextError("too_long", wording, name=name, length=len(text), longest=max_chars)
    if UNSTORABLE.search(text):
        wording = _("%(name)s contains characters that cannot be stored (NUL or half a surrogate pair).")
        raise InvalidTextError("bad_text", wording, name=name)
    return text


def formatted_number(number: int) -> str:
    """Return `number` as the active language writes it: 16,000 or 16.000."""
    return number_format(number, force_grouping=True)


def file_size(size: int) -> str:
    """Return `size` bytes in the active language, in units of 1,024: 512 B, 1.5 kB, 3 MB.

    The page's scripts write sizes in the same words (static/js/attachments.js).
    """
    if size < 1024:
        return _("{number} B").format(number=size)
    is_large = size >= 1024**2
    number = round(size / (1024**2 if is_large else 1024), 1)
    shown = number_format(int(number) if number == int(number) else number)
    return (_("{number} MB") if is_large else _("{number} kB")).format(number=shown)


class _Number(int):
    """A number inside a sentence: %(name)s has the separators of the active language, %(name)d has none."""

    def __str__(self) -> str:
        return formatted_number(int(self))


def formatted_params(params: Mapping[str, Any]) -> dict[str, Any]:
    """Return `params`, the parameters of a sentence, with numbers that format themselves in the active language."""
    return {name: _formatted(value) for name, value in params.items()}


def _formatted(value: Any) -> Any:
    if isinstance(value, float):
        return number_format(value)
    return _Number(value) if type(value) is int else value


def replace_unstorable(text: str) -> str:
    """Return `text` with each character that cannot be stored replaced by U+FFFD, for output of models and servers."""
    return UNSTORABLE.sub("\ufffd", text)


def replace_unstorable_in_json(value: object) -> object:
    """Return the JSON value with characters that cannot be stored replaced by U+FFFD in every string and key.

    It does not recurse: a file may be nested deeper than Python can.
    """
    result = [value]
    waiting: list[Any] = [result]
    while waiting:
        copied = waiting.pop()
        for position, item in list(copied.items() if isinstance(copied, dict) else enumerate(copied)):
            if isinstance(item, str):
                copied[position] = replace_unstorable(item)
            elif isinstance(item, list | dict):
                is_list = isinstance(item, list)
                copied[position] = [*item] if is_list else {replace_unstorable(str(key)): item[key] for key in item}
                waiting.append(copied[position])
    return result[0]
