"""Reduce a text to the terms that carry its content, so that a sentence and its paraphrase share them. Pure.

A term is the stem of a word or a meaning that several words share, a number, the number of a month, an address, or a
Chinese character. What is no such term, such as kana, symbols and invisible characters, is compared as it is spelled.
"""

import re
import threading
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Self

import Stemmer

from memory.text.terms import plain
from memory.trust.words import (
    IGNORED_CHARACTERS,
    IGNORED_WORDS,
    MONTH_WORDS,
    NEGATIONS,
    NUMBER_WORDS,
    SYNONYMOUS_CHARACTERS,
    SYNONYMS,
)

NEGATION = "¬"
# Prefixes of terms: a number or month, an address, a meaning.
NUMBER, ADDRESS, MEANING = "#", "@", "~"

TOKEN = re.compile(
    r"(?P<address>(?<![\w.+-])[\w.+-]++@[\w-]+\.[\w.-]*\w|(?:https?://|www\.)[^\s<>\"')\]]+)"
    r"|(?P<iso>\d{4}-\d{1,2}-\d{1,2})(?!\d)"
    r"|(?P<dotted>\d{1,2}[./]\d{1,2}[./]\d{2,4})(?!\d)"
    r"|(?P<day>\d{1,2}\.\s?\d{1,2}\.)(?!\d)"
    r"|(?P<time>\d{1,2}[:.]\d{2}\s?[ap]\.?m\b\.?|\d{1,2}\s?[ap]\.?m\b\.?|\d{1,2}:\d{2})"
    r"|(?P<mixed>[A-Za-z]+\d\w*|\d+[A-Za-z]\w*)"
    r"|(?P<number>\d+(?:[.,'’\u00a0]\d+)*)"
    r"|(?P<han>[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff])"
    r"|(?P<kana>[\u30a0-\u30ffー]+)"
    r"|(?P<hangul>[\uac00-\ud7af]+)"
    r"|(?P<word>[^\W\d_\u3040-\u30ff\u3400-\u9fff]+(?:['’][^\W\d_]+)?)",
    re.IGNORECASE,
)
# Endings and particles of Japanese that add nothing, and what negates.
KANA_PARTICLES = re.compile(
    "ています|ていました|ました|ません|でした|です|ます|ている|てる|いる|いた|した|して|する|という|こと|もの|から|まで|より|"
    "には|では|とは|おり|ある|あり|んでいる|んで|[はがをにでともへのねよだ]"
)
KANA_NEGATION = re.compile("ない|ません|なく|ずに")
HIRAGANA = "\u3041-\u309f"
RUN = re.compile(rf"[{HIRAGANA}]+|[^{HIRAGANA}]")
PUNCTUATION = frozenset(
    "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~“”„‘’«»‹›–—…·•、。，！？：；（）「」『』【】・〜～\u00a0\u3000"
)
_NUMERALS = {char: number for number, char in enumerate("〇一二三四五六七八九")}
HAN_NUMBER = re.compile(r"(?<![〇一二三四五六七八九十])[〇一二三四五六七八九十]++(?=[月日号年時点歳岁])")
ORDINAL = re.compile(r"(\d+)(?:st|nd|rd|th|er|ère|e|º|ª)", re.IGNORECASE)


@dataclass(frozen=True)
class Terms:
    """The terms of a text, of which the words that add nothing are left out.

    `content` are its terms, `marks` says whether it negates, `other` are runs of characters that are no terms, and
    `spelled` is the text as it is compared for these.
    """

    content: frozenset[str]
    marks: frozenset[str]
    other: tuple[str, ...]
    spelled: str

    @classmethod
    def of(cls, text: str, language: str) -> Self:
        """Return the terms of `text`; `language` is the Snowball name of the language of its words."""
        text = unicodedata.normalize("NFKC", text)
        counted = HAN_NUMBER.sub(lambda found: str(_han_number(found[0])), text)
        found = frozenset(term for each in TOKEN.finditer(counted) for term in _terms(each, language))
        negated = NEGATION in found or KANA_NEGATION.search(text) is not None
        rest = TOKEN.sub(" ", KANA_NEGATION.sub(" ", text))
        runs = (run for part in rest.split() for run in RUN.findall(part) if run not in PUNCTUATION)
        other = tuple(piece for run in runs for piece in KANA_PARTICLES.split(run) if piece)
        return cls(found - {NEGATION}, frozenset({NEGATION}) if negated else frozenset(), other, text)


def _terms(found: re.Match[str], language: str) -> Iterator[str]:
    match found.lastgroup, found[0]:
        case "address", address:
            yield ADDRESS + address.casefold().rstrip("./")
        case "iso", date:
            yield from (f"{NUMBER}{int(part)}" for part in date.split("-"))
        case "dotted", date:
            first, second, year = map(int, re.split(r"[./]", date))
            yield from (f"{NUMBER}{first}", f"{NUMBER}{second}", f"{NUMBER}{year if year > 99 else 2000 + year}")
        case "day", date:
            yield from (f"{NUMBER}{int(part)}" for part in re.findall(r"\d+", date))
        case "time", time:
            yield NUMBER + _time(time)
        case "number", number:
            yield NUMBER + (re.sub(r"\D", "", number).lstrip("0") or "0")
        case "han", char:
            if char in "不没無别":
                yield NEGATION
            elif char in SYNONYMOUS_CHARACTERS:
                yield f"{MEANING}{SYNONYMOUS_CHARACTERS[char]}"
            elif char not in IGNORED_CHARACTERS:
                yield char
        case "mixed", token:
            ordinal = ORDINAL.fullmatch(token)
            yield NUMBER + (ordinal[1] if ordinal else token.casefold())
        case (("kana" | "hangul"), run):
            if run not in IGNORED_WORDS:
                yield run
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
    if bare in SYNONYMS:
        return (f"{MEANING}{SYNONYMS[bare]}",)
    stem = _stemmers.stem(bare, language)
    # The stemmer keeps the ending of "trinkt" and not that of "trinke".
    return (stem.removesuffix("t") if language == "german" and len(stem) > 4 else stem,)


class _Stemmers(threading.local):
    """The stemmers of a thread by language: a stemmer is not thread-safe."""

    def __init__(self) -> None:
        self.by_language: dict[str, Stemmer.Stemmer] = {}

    def stem(self, word: str, language: str) -> str:
        """Return the stem of `word`."""
        stemmer = self.by_language.setdefault(language, Stemmer.Stemmer(language))
        return str(stemmer.stemWord(word))


_stemmers = _Stemmers()
