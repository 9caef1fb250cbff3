"""Words into index terms: a stem for each language word, the word itself beside it, whole identifiers, CJK n-grams.

A term travels as a 32-bit number, the CRC of its text, so that an index is arrays of numbers.
"""

import re
import threading
import unicodedata
from functools import lru_cache
from itertools import chain, repeat
from zlib import crc32

import Stemmer

from memory.text.languages import NAMES, NAMES_TOO, STOP_WORDS

# Words and identifiers: letters and digits, held together by the marks that code, ids and addresses use inside.
# Beside them a picture: emoji and other symbols.
TOKEN = re.compile(
    r"[^\W_]+(?:['’_\-./@:#+]+[^\W_]+)*|[\u2190-\u21ff\u2300-\u27bf\u2b00-\u2bff\U0001f000-\U0001faff]", re.UNICODE
)
WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)?")
CAMEL = re.compile(r"[a-z0-9]+|[A-Z]+(?![a-z])|[A-Z][a-z0-9]*")
# Scripts written without spaces: Thai, Lao, Burmese, Khmer, kana, Han and its extensions. (Korean has spaces, but its
# particles stick to the words: two syllables at a time find both.)
UNSEGMENTED = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af"
    "\uf900-\ufaff\U00020000-\U0003ffff]+"
)
NAME_TOO = re.compile(rf"\b(?:{'|'.join(NAMES_TOO)})\b")
# What stands before a word in the middle of a sentence.
WITHIN = re.compile(r"[^\W_][,;’')]* $")
# Tokens that are remembered have at most so many characters: there is room for thousands.
LONGEST_KEPT = 64


def terms_of(text: str, language: str = "english") -> list[int]:
    """The terms of a text, in its order, repeated as often as they stand there. Stop words have none, those that are
    written like names have theirs at the end."""
    text = composed(text)
    terms = chain.from_iterable(map(_terms, TOKEN.findall(text), repeat(language)))
    return [*terms, *(number("=" + name.lower()) for name in names_too(text))]


def names_too(text: str) -> list[str]:
    """The stop words of a text that are written like names: "my brother Will", but not "Will you come?"."""
    if not any(name in text for name in NAMES_TOO) or text.isupper():
        return []
    asks = "?" in text
    return [
        found[0]
        for found in NAME_TOO.finditer(text)
        if not asks or WITHIN.search(text, max(0, found.start() - 8), found.start())
    ]


def composed(text: str) -> str:
    """The text with each letter in its one form, however it was typed: NFKC."""
    return text if text.isascii() else unicodedata.normalize("NFKC", text)


def parts_of(token: str) -> list[str]:
    """What of a token of a question is looked for on its own: itself, of an identifier also its parts, of unsegmented
    text its pairs of characters."""
    if UNSEGMENTED.search(token):
        runs = [gram for run in UNSEGMENTED.findall(token) for gram in (_pairs(run) or [run])]
        return runs + [part for run in UNSEGMENTED.split(token) if run for part in parts_of(run)]
    words = WORD.findall(token)
    return words if len(words) == 1 else [token, *words]


def stems_of(part: str, languages: tuple[str, ...] = NAMES) -> frozenset[int]:
    """The terms under which a part of a question may stand in texts of these languages."""
    return (_stems_of if len(part) <= LONGEST_KEPT else _stems_of.__wrapped__)(part, languages)


@lru_cache(maxsize=16_384)
def _stems_of(part: str, languages: tuple[str, ...]) -> frozenset[int]:
    word = plain(part)
    if UNSEGMENTED.search(part) or len(WORD.findall(part)) > 1:
        return frozenset({number("=" + part.lower()), number(part)})
    if not word.isalpha():
        return frozenset({number(word)})
    return frozenset({number(_stem(word, language)) for language in languages}) | {number("=" + word)}


def number(term: str) -> int:
    """The number by which a term is kept."""
    return crc32(term.encode())


def speaker_number(name: str) -> int:
    """The number that stands for who speaks: by the first word of the name; 0 for nobody."""
    return (_speaker_number if len(name) <= LONGEST_KEPT else _speaker_number.__wrapped__)(name)


@lru_cache(maxsize=4096)
def _speaker_number(name: str) -> int:
    first = WORD.search(composed(name))
    return number("@" + plain(first[0])) if first else 0


def plain(word: str) -> str:
    """A word in lower case, without the possessive."""
    return word.lower().replace("’", "'").removesuffix("'s")


def _terms(token: str, language: str) -> tuple[int, ...]:
    """Every term of one token."""
    return (_kept_terms if len(token) <= LONGEST_KEPT else _kept_terms.__wrapped__)(token, language)


@lru_cache(maxsize=65_536)
def _kept_terms(token: str, language: str) -> tuple[int, ...]:
    if not token.isascii() and UNSEGMENTED.search(token):
        return tuple(term for run in UNSEGMENTED.split(token) if run for term in _terms(run, language)) + tuple(
            number(gram) for run in UNSEGMENTED.findall(token) for gram in _grams(run)
        )
    parts = WORD.findall(token)
    if len(parts) == 1:
        return tuple(map(number, _word_terms(parts[0], language)))
    if not parts:
        return (number(token),)
    # An identifier: the whole of it, and its parts.
    whole = token.lower()
    return (number("=" + whole), *(number(term) for part in parts for term in _word_terms(part, language)))


def _word_terms(word: str, language: str) -> list[str]:
    """The stem of a word, and the word itself where they differ; of camelCase its parts too."""
    bare = plain(word)
    humps = CAMEL.findall(word) if word.isascii() and not (word.islower() or word.isupper() or word.istitle()) else []
    parts = [term for hump in humps for term in _word_terms(hump.lower(), language)] if len(humps) > 1 else []
    if bare in STOP_WORDS:
        return parts
    stem = _stem(bare, language) if bare.isalpha() else bare
    return [stem, *(["=" + bare] if stem != bare else []), *parts]


def _grams(run: str) -> list[str]:
    """The pairs of neighbouring characters, and each character."""
    return [*run, *_pairs(run)]


def _pairs(run: str) -> list[str]:
    return [run[at : at + 2] for at in range(len(run) - 1)]


class _Stemmers(threading.local):
    """One for each language and thread: two threads may not use one at once."""

    def __init__(self) -> None:
        # Without their own caches: the terms are cached here.
        self.by_language = {language: Stemmer.Stemmer(language, 0) for language in NAMES}


_stemmers = _Stemmers()


def _stem(word: str, language: str) -> str:
    return _stemmers.by_language[language].stemWord(word)
