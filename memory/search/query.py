"""Parse a question: its words as concepts, the days that it names, and whether it asks for a time."""

import datetime as dt
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from memory.text.dates import TIME_WORDS, Period, asks_when, periods_meant
from memory.text.languages import LANGUAGE_NAMES, STOP_WORDS, language_of
from memory.text.terms import TOKEN, WORD, name_like_stop_words, normalize, parts_of, plain, speaker_number, stems_of

# A capitalised word that does not begin a sentence: mostly a name. (In German it is any noun.)
NAME = re.compile(r"(?<=[\w,;:'’\"“(-] )[\"“(]?[A-ZÀ-ÖØ-ÞА-Я][\w'’-]*")
ENGLISH = ("english",)
# Further words of a question are ignored.
QUESTION_MAX_WORDS = 64


@dataclass(frozen=True)
class Concept:
    """A word of a question: the terms that match it, each with its weight (1 for the word itself).

    `name` is the number that a speaker with this name has.
    """

    terms: Mapping[int, float]
    name: int = 0
    # Whether it is written like a name: capitalised in the middle of a sentence.
    is_name: bool = False
    # Whether it only says which days are meant.
    is_time: bool = False
    # Whether it may be a name or a stop word: it counts only if the corpus contains it.
    is_doubtful: bool = False


@dataclass(frozen=True)
class ParsedQuestion:
    """A parsed question: its concepts, the periods that it means, and whether it asks for a time."""

    concepts: tuple[Concept, ...]
    periods: tuple[Period, ...] = ()
    asks_when: bool = False

    @classmethod
    def read(
        cls,
        text: str,
        today: dt.date,
        near_words: Callable[[Sequence[str]], Sequence[Mapping[str, float]]] | None = None,
        languages: tuple[str, ...] = LANGUAGE_NAMES,
    ) -> "ParsedQuestion":
        """Parse the question `text`; `today` is the person's own day, from which relative days count.

        `near_words` returns for each word those close in meaning, each with a weight below 1; `languages` are those of
        the texts to search.
        """
        text = normalize(text)
        parts = dict.fromkeys(part for token in TOKEN.findall(text) for part in parts_of(token))
        doubtful = set(name_like_stop_words(text))
        wanted = [part for part in parts if plain(part) not in STOP_WORDS or _bare(part) in doubtful] or list(parts)
        language = language_of(text)
        stems = tuple(sorted({language, *languages}))
        names = (
            set() if language == "german" else {name for found in NAME.findall(text) for name in WORD.findall(found)}
        )
        periods = tuple(periods_meant(text, today))
        wanted = wanted[:QUESTION_MAX_WORDS]
        near = near_words([plain(part) for part in wanted]) if near_words else [{}] * len(wanted)
        concepts = (
            Concept(
                {term: weight for other, weight in others.items() for term in stems_of(other, ENGLISH)}
                | dict.fromkeys(stems_of(part, stems), 1.0),
                speaker_number(part),
                part in names and plain(part) not in TIME_WORDS,
                bool(periods) and plain(part) in TIME_WORDS,
                _bare(part) in doubtful,
            )
            for part, others in zip(wanted, near, strict=True)
        )
        return cls(tuple(concepts), periods, asks_when(text))


def _bare(part: str) -> str:
    return part.replace("’", "'").removesuffix("'s")


def without_names(text: str) -> str:
    """Return the part of the question `text` to embed: no names, which dominate a vector and are found by words."""
    if language_of(text) == "german":
        return text
    without = " ".join(NAME.sub(" ", text).split())
    return without if len(without.split()) > 1 else text
