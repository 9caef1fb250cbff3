"""Reduce a text to the terms that carry its content, so that a sentence and its paraphrase share them. Pure.

A term is the stem of a word, a number, the number of a month, an address, a Chinese character, or NEGATION.
"""

import re
import threading
import unicodedata
from collections.abc import Iterator, Set
from functools import lru_cache

import Stemmer

from memory.text.terms import plain
from memory.trust.words import (
    IGNORED_WORDS,
    LIGHT_CHARACTERS,
    LIGHT_WORDS,
    MONTH_WORDS,
    NEGATIONS,
    NUMBER_WORDS,
)

NEGATION = "¬"
# Prefixes of terms: a number or month, an address, a word of little content.
NUMBER, ADDRESS, LIGHT = "#", "@", "~"
# Words with the same beginning of this length have one term, such as "vegetarian" and "Vegetarier".
STEM_MAX_CHARS = 7
LIGHT_WEIGHT, CHARACTER_WEIGHT, NUMBER_WEIGHT = 0.3, 0.5, 1.5

TOKEN = re.compile(
    r"(?P<address>[\w.+-]+@[\w-]+\.[\w.-]*\w|(?:https?://|www\.)[^\s<>\"')\]]+)"
    r"|(?P<iso>\d{4}-\d{1,2}-\d{1,2})(?!\d)"
    r"|(?P<dotted>\d{1,2}[./]\d{1,2}[./]\d{2,4})(?!\d)"
    r"|(?P<time>\d{1,2}[:.]\d{2}\s?[ap]\.?m\b\.?|\d{1,2}\s?[ap]\.?m\b\.?|\d{1,2}:\d{2})"
    r"|(?P<mixed>[A-Za-z]+\d\w*|\d+[A-Za-z]\w*)"
    r"|(?P<number>\d+(?:[.,'’\u00a0]\d+)*)"
    r"|(?P<han>[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff])"
    r"|(?P<kana>[\u30a0-\u30ffー]+)"
    r"|(?P<hangul>[\uac00-\ud7af]+)"
    r"|(?P<word>[^\W\d_\u3040-\u30ff\u3400-\u9fff]+(?:['’][^\W\d_]+)?)",
    re.IGNORECASE,
)
_NUMERALS = {char: number for number, char in enumerate("〇一二三四五六七八九")}
HAN_NUMBER = re.compile(r"[〇一二三四五六七八九十]+(?=[月日号年時点歳岁])")


def terms_of(text: str, language: str) -> frozenset[str]:
    """Return the terms of `text`; `language` is the Snowball name of the language of its words."""
    text = HAN_NUMBER.sub(lambda found: str(_han_number(found[0])), unicodedata.normalize("NFKC", text))
    return frozenset(term for found in TOKEN.finditer(text) for term in _terms(found, language))


def weight_of(terms: Set[str]) -> float:
    """Return how much `terms` say together: a word of little content less than others, a number more."""
    return sum(map(_weight, terms))


def is_exact(term: str) -> bool:
    """Return whether the term is a number or an address, which no paraphrase changes."""
    return term.startswith((NUMBER, ADDRESS))


def _weight(term: str) -> float:
    if term.startswith(LIGHT):
        return LIGHT_WEIGHT
    if is_exact(term):
        return NUMBER_WEIGHT
    return CHARACTER_WEIGHT if len(term) == 1 and term != NEGATION else 1.0


def _terms(found: re.Match[str], language: str) -> Iterator[str]:
    match found.lastgroup, found[0]:
        case "address", address:
            yield ADDRESS + address.casefold().rstrip("./")
        case "iso", date:
            yield from (f"{NUMBER}{int(part)}" for part in date.split("-"))
        case "dotted", date:
            first, second, year = map(int, re.split(r"[./]", date))
            yield from (f"{NUMBER}{first}", f"{NUMBER}{second}", f"{NUMBER}{year if year > 99 else 2000 + year}")
        case "time", time:
            yield NUMBER + _time(time)
        case "number", number:
            yield NUMBER + (re.sub(r"\D", "", number).lstrip("0") or "0")
        case "han", char:
            yield (LIGHT if char in LIGHT_CHARACTERS else "") + (NEGATION if char in "不没無别" else char)
        case (("kana" | "hangul"), run):
            yield run
        case "mixed", token:
            yield NUMBER + token.casefold()
        case _, word:
            yield from _word_terms(word, language)


def _time(text: str) -> str:
    digits = [int(part) for part in re.findall(r"\d+", text)]
    hour, minute = digits[0], digits[1] if len(digits) > 1 else 0
    if re.search(r"p\.?m", text, re.IGNORECASE) and hour < 12:
        hour += 12
    return f"{hour}{minute:02}" if minute else f"{hour}"


def _han_number(text: str) -> int:
    tens, ten, units = text.partition("十")
    if not ten:
        return int("".join(str(_NUMERALS[char]) for char in text))
    return 10 * (_NUMERALS[tens[-1]] if tens else 1) + (_NUMERALS[units[0]] if units else 0)


@lru_cache(maxsize=16_384)
def _word_terms(word: str, language: str) -> tuple[str, ...]:
    bare = plain(word)
    if bare in NEGATIONS or bare.endswith(("n't", "n’t")):
        return (NEGATION,)
    bare = re.sub(r"['’]s?$", "", bare)
    if re.match(r"[dlmtscjn]['’]|qu['’]", bare):
        bare = re.split(r"['’]", bare, maxsplit=1)[1]
    bare = re.split(r"['’]", bare)[0]
    if bare in NUMBER_WORDS:
        return (f"{NUMBER}{NUMBER_WORDS[bare]}",)
    if bare in IGNORED_WORDS or not bare:
        return ()
    if bare in MONTH_WORDS:
        return (f"{NUMBER}{MONTH_WORDS[bare]}",)
    stem = _stemmers.stem(bare, language)[:STEM_MAX_CHARS]
    return (f"{LIGHT}{stem}" if bare in LIGHT_WORDS else stem,)


class _Stemmers(threading.local):
    """The stemmers of a thread by language: a stemmer is not thread-safe."""

    def __init__(self) -> None:
        self.by_language: dict[str, Stemmer.Stemmer] = {}

    def stem(self, word: str, language: str) -> str:
        """Return the stem of `word`."""
        stemmer = self.by_language.setdefault(language, Stemmer.Stemmer(language))
        return str(stemmer.stemWord(word))


_stemmers = _Stemmers()
