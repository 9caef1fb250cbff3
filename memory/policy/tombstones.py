"""Recognise forgotten lines by tombstones: keyed hashes of their words, without their text.

known = of_space(space.pk)
known.without(notes)        # the notes without the lines that were forgotten
"""

import hashlib
import hmac
import re
import unicodedata
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import partial

from django.conf import settings

from memory.models import ForgottenLine, MemoryDocument, MemoryRevision
from memory.policy.same_words import MARKS
from memory.text.terms import UNSEGMENTED

WORD = re.compile(r"[^\W_]+")
# The time and speaker that notes put before a message.
SAID_BY = re.compile(r"(?:\d{1,2}:\d{2}\s+)?(?:(?:Person|Assistant):\s+)?")
# A forgotten line of at least so many words and characters is also found inside another line. A shorter one only
# matches a whole line: otherwise forgetting "tea" would forget every line about tea.
PHRASE_MIN_WORDS, PHRASE_MIN_CHARS = 4, 16
# The text that replaces forgotten words where a silent gap would mislead.
BLANK = "[forgotten]"
Source = MemoryRevision.Source


class LineForgottenError(Exception):
    """The text holds a forgotten line; nothing was written."""

    def __init__(self, path: str):
        super().__init__(f"{path} cannot take a line that the person has had forgotten.")


@dataclass(frozen=True)
class Phrase:
    """The words of a forgotten line."""

    words: tuple[str, ...]

    @property
    def is_whole(self) -> bool:
        """Return whether the phrase matches only a whole line, not a part of one."""
        return len(self.words) < PHRASE_MIN_WORDS or sum(map(len, self.words)) < PHRASE_MIN_CHARS


@dataclass(frozen=True)
class LineMatcher:
    """A matcher of forgotten lines.

    `mark` maps words to a mark, such as a hash. `whole` holds the marks that match whole lines; `parts` holds, by
    number of words, the marks that also match a part of a line.
    """

    mark: Callable[[Sequence[str]], Hashable]
    whole: Set[Hashable]
    parts: Mapping[int, Set[Hashable]]

    def __bool__(self) -> bool:
        return bool(self.whole or self.parts)

    def marks_in(self, line: str) -> Iterator[Hashable]:
        """Yield the marks that match `line` or a part of it."""
        if not self:
            return
        words = words_of(line)
        if words and self.whole and (mark := self.mark(words)) in self.whole:
            yield mark
        yield from (mark for _, _, mark in self._runs(words))

    def is_in(self, line: str) -> bool:
        """Return whether `line` is forgotten or holds forgotten words."""
        return next(self.marks_in(line), None) is not None

    def is_in_text(self, text: str) -> bool:
        """Return whether a line of `text` is forgotten or holds forgotten words."""
        return bool(self) and any(self.is_in(line) for line in text.split("\n"))

    def without(self, text: str) -> str:
        """Return `text` without its forgotten lines; the rest is unchanged byte for byte."""
        if not self.is_in_text(text):
            return text
        return "\n".join(line for line in text.split("\n") if not self.is_in(line))

    def blanked(self, text: str) -> str:
        """Return `text` with each forgotten line replaced by BLANK."""
        if not self.is_in_text(text):
            return text
        return "\n".join(BLANK if self.is_in(line) else line for line in text.split("\n"))

    def without_forgotten_words(self, text: str) -> str:
        """Return `text` with forgotten words replaced by BLANK, also where they span several lines."""
        if not self:
            return text
        lines = text.split("\n")
        text = "\n".join(BLANK if self.whole and self.mark(words_of(line)) in self.whole else line for line in lines)
        spans = list(_spans(text))
        words = [word for _, _, word in spans]
        kept, at = [], 0
        normal = unicodedata.normalize("NFKC", text)
        for first, last, _ in sorted(self._runs(words)):
            if spans[first][0] >= at:
                kept.append(normal[at : spans[first][0]] + BLANK)
            at = max(at, spans[last - 1][1])
        return "".join(kept) + normal[at:] if kept else text

    def _runs(self, words: Sequence[str]) -> Iterator[tuple[int, int, Hashable]]:
        for length, marks in self.parts.items():
            for at in range(len(words) - length + 1):
                mark = self.mark(words[at : at + length])
                if mark in marks:
                    yield at, at + length, mark


def of_space(space_id: int) -> LineMatcher:
    """Return the matcher of the lines that were forgotten in the space."""
    rows = ForgottenLine.objects.filter(space=space_id).values_list("hash", "words", "whole")
    return _matcher(partial(line_hash, space_id), rows)


def title_without_forgotten(space_id: int, title: str) -> str:
    """Return `title` in one line with forgotten words replaced, as memory names a conversation."""
    return " ".join(of_space(space_id).without_forgotten_words(title).split())


def of_phrases(phrases: Iterable[Phrase]) -> LineMatcher:
    """Return the matcher of `phrases`, whose words it holds unhashed. Pure."""
    return _matcher(tuple, ((phrase.words, len(phrase.words), phrase.is_whole) for phrase in phrases))


def line_hash(space_id: int, words: Sequence[str]) -> str:
    """Return the HMAC-SHA-256 of `words` in the space, in hexadecimal.

    The key is derived from SECRET_KEY, so that short texts cannot be guessed from the database or a receipt alone.
    """
    key = hashlib.sha256(b"oneclaw.memory.forgotten\0" + settings.SECRET_KEY.encode()).digest()
    return hmac.digest(key, f"{space_id}\0{' '.join(words)}".encode(errors="replace"), "sha256").hex()


def words_of(line: str) -> tuple[str, ...]:
    """Return the words of `line` by which lines are compared: without bullets, punctuation and case, and without the
    time and speaker that notes put first."""
    return tuple(word for _, _, word in _spans(SAID_BY.sub("", MARKS.sub("", line), count=1)))


def forgotten_since(document: MemoryDocument, version: int) -> bool:
    """Return whether lines of `document` were forgotten after `version`.

    If so, line numbers of that version do not match what people saw.
    """
    return document.revisions.filter(number__gt=version, source=Source.FORGET).exists()


def lock_name(space_id: int) -> str:
    """Return the name of the lock that writers into the space share and a forgetting holds exclusively."""
    return f"forgetting in {space_id}"


def _matcher(mark: Callable[[Sequence[str]], Hashable], entries: Iterable[tuple[Hashable, int, bool]]) -> LineMatcher:
    """Return the matcher of `entries`: (mark, number of words, whether it matches only a whole line)."""
    whole: set[Hashable] = set()
    parts: dict[int, set[Hashable]] = defaultdict(set)
    for entry, words, is_whole in entries:
        (whole if is_whole else parts[words]).add(entry)
    return LineMatcher(mark, whole, parts)


def _spans(text: str) -> Iterator[tuple[int, int, str]]:
    """Yield (start, end, word) for each word of `text` in Unicode form NFKC, casefolded. In scripts without spaces,
    each character is a word."""
    for found in WORD.finditer(unicodedata.normalize("NFKC", text)):
        word = found[0]
        if UNSEGMENTED.search(word):
            for at, char in enumerate(word, found.start()):
                yield at, at + 1, char.casefold()
        else:
            yield found.start(), found.end(), word.casefold()
