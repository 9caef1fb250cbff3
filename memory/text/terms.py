"""Turn words into index terms: the stem of each word and the word itself, whole identifiers, CJK n-grams.

A term is a 32-bit number, the CRC-32 of its text, so that an index consists of arrays of numbers.
"""

import re
import threading
import unicodedata
from functools import lru_cache
from itertools import chain, repeat
from zlib import crc32

import Stemmer

from memory.text.languages import LANGUAGE_NAMES, STOP_WORDS, STOP_WORDS_ALSO_NAMES
from oneclaw.words import ACCENTS, folded

# Words and identifiers: letters and digits, joined by the characters that code, ids and addresses contain; and single
# emoji and other symbols.
TOKEN = re.compile(
    r"[^\W_]+(?:['’_\-./@:#+]+[^\W_]+)*|[\u2190-\u21ff\u2300-\u27bf\u2b00-\u2bff\U0001f000-\U0001faff]", re.UNICODE
)
WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)?")
CAMEL = re.compile(r"[a-z0-9]+|[A-Z]+(?![a-z])|[A-Z][a-z0-9]*")
# Scripts written without spaces: Thai, Lao, Burmese, Khmer, kana, Han and its extensions. (Korean has spaces, but its
# particles are attached to the words: pairs of syllables find both.)
UNSEGMENTED = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af"
    "\uf900-\ufaff\U00020000-\U0003ffff]+"
)
NAME_LIKE = re.compile(rf"\b(?:{'|'.join(STOP_WORDS_ALSO_NAMES)})\b")
# The text before a word in the middle of a sentence.
BEFORE_MID_SENTENCE = re.compile(r"[^\W_][,;’')]* $")
# Longer tokens are not cached, so that thousands of cached tokens stay small.
CACHED_TOKEN_MAX_CHARS = 64


def terms_of(text: str, language: str = "english") -> list[int]:
    """Return the terms of `text` in its order, with repetitions; `language` chooses the stemmer.

    Stop words have no terms, except those that are written like names: their terms are at the end.
    """
    text = normalize(text)
    terms = chain.from_iterable(map(_terms, TOKEN.findall(text), repeat(language)))
    return [*terms, *(term_number("=" + name.lower()) for name in name_like_stop_words(text))]


def name_like_stop_words(text: str) -> list[str]:
    """Return the stop words of `text` that are written like names: "my brother Will", but not "Will you come?"."""
    if not any(name in text for name in STOP_WORDS_ALSO_NAMES) or text.isupper():
        return []
    asks = "?" in text
    return [
        found[0]
        for found in NAME_LIKE.finditer(text)
        if not asks or BEFORE_MID_SENTENCE.search(text, max(0, found.start() - 8), found.start())
    ]


def normalize(text: str) -> str:
    """Return `text` in the Unicode normalization form NFKC, without marks that belong to no letter there, such as the
    vowel signs of Hebrew and Arabic, which would part a word."""
    return text if text.isascii() else ACCENTS.sub("", unicodedata.normalize("NFKC", text))


def parts_of(token: str) -> list[str]:
    """Return the parts of a question's `token` that are searched separately.

    These are the token itself, the parts of an identifier, and the pairs of characters of unsegmented text.
    """
    if UNSEGMENTED.search(token):
        runs = [gram for run in UNSEGMENTED.findall(token) for gram in (_pairs(run) or [run])]
        return runs + [part for run in UNSEGMENTED.split(token) if run for part in parts_of(run)]
    words = WORD.findall(token)
    return words if len(words) == 1 else [token, *words]


def stems_of(part: str, languages: tuple[str, ...] = LANGUAGE_NAMES) -> frozenset[int]:
    """Return the terms that `part` of a question may have in texts of `languages`."""
    return (_cached_stems if len(part) <= CACHED_TOKEN_MAX_CHARS else _cached_stems.__wrapped__)(part, languages)


@lru_cache(maxsize=16_384)
def _cached_stems(part: str, languages: tuple[str, ...]) -> frozenset[int]:
    word = plain(part)
    if UNSEGMENTED.search(part) or len(WORD.findall(part)) > 1:
        return frozenset({term_number("=" + part.lower()), term_number(part)})
    if not word.isalpha():
        return frozenset({term_number(word)})
    return frozenset({term_number(_stem(word, language)) for language in languages}) | {term_number("=" + word)}


def term_number(term: str) -> int:
    """Return the number of `term`: the CRC-32 of its letters as every search compares them."""
    return crc32(folded(term).encode())


def speaker_number(name: str) -> int:
    """Return the number of a speaker, by the first word of `name`; 0 if it has no word."""
    return (_cached_speaker_number if len(name) <= CACHED_TOKEN_MAX_CHARS else _cached_speaker_number.__wrapped__)(name)


@lru_cache(maxsize=4096)
def _cached_speaker_number(name: str) -> int:
    first = WORD.search(normalize(name))
    return term_number("@" + plain(first[0])) if first else 0


def plain(word: str) -> str:
    """Return `word` in lower case, without the possessive ’s."""
    return word.lower().replace("’", "'").removesuffix("'s")


def _terms(token: str, language: str) -> tuple[int, ...]:
    """Return all terms of one token."""
    return (_cached_terms if len(token) <= CACHED_TOKEN_MAX_CHARS else _cached_terms.__wrapped__)(token, language)


@lru_cache(maxsize=65_536)
def _cached_terms(token: str, language: str) -> tuple[int, ...]:
    if not token.isascii() and UNSEGMENTED.search(token):
        return tuple(term for run in UNSEGMENTED.split(token) if run for term in _terms(run, language)) + tuple(
            term_number(gram) for run in UNSEGMENTED.findall(token) for gram in (*run, *_pairs(run))
        )
    parts = WORD.findall(token)
    if len(parts) == 1:
        return tuple(map(term_number, _word_terms(parts[0], language)))
    if not parts:
        return (term_number(token),)
    # An identifier: the whole of it, and its parts.
    whole = token.lower()
    return (term_number("=" + whole), *(term_number(term) for part in parts for term in _word_terms(part, language)))


def _word_terms(word: str, language: str) -> list[str]:
    """Return the stem of a word, the word itself if it differs, and the terms of the parts of camelCase."""
    bare = plain(word)
    humps = CAMEL.findall(word) if word.isascii() and not (word.islower() or word.isupper() or word.istitle()) else []
    parts = [term for hump in humps for term in _word_terms(hump.lower(), language)] if len(humps) > 1 else []
    if bare in STOP_WORDS:
        return parts
    stem = _stem(bare, language) if bare.isalpha() else bare
    return [stem, *(["=" + bare] if stem != bare else []), *parts]


def _pairs(run: str) -> list[str]:
    return [run[at : at + 2] for at in range(len(run) - 1)]


class _Stemmers(threading.local):
    """The stemmers of a thread by language: a stemmer is not thread-safe."""

    def __init__(self) -> None:
        # Without their own caches: _cached_terms caches the terms.
        self.by_language = {language: Stemmer.Stemmer(language, 0) for language in LANGUAGE_NAMES}


_stemmers = _Stemmers()


def _stem(word: str, language: str) -> str:
    return _stemmers.by_language[language].stemWord(word)
