"""What a question asks for: its words as concepts, the days it names, whether it wants a time."""

import datetime as dt
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from memory.text.dates import TIME_WORDS, Period, asks_when, periods_meant
from memory.text.languages import NAMES, STOP_WORDS, language_of
from memory.text.terms import TOKEN, WORD, composed, names_too, parts_of, plain, speaker_number, stems_of

# A capitalised word that does not begin a sentence: mostly a name. (In German it is any noun.)
NAME = re.compile(r"(?<=[\w,;:'’\"“(-] )[\"“(]?[A-ZÀ-ÖØ-ÞА-Я][\w'’-]*")
ENGLISH = ("english",)
# Words a question may have; the rest of a longer one is not looked at.
QUESTION_MAX_WORDS = 64


@dataclass(frozen=True)
class Concept:
    """One thing a question asks for: the terms that stand for it, each with its weight (1: the word itself).

    `name` is the number of the word as a speaker's name.
    """

    terms: Mapping[int, float]
    name: int = 0
    # Whether it is written like a name: in the middle of a sentence with a capital.
    is_name: bool = False
    # Whether it only says which days are meant.
    is_time: bool = False
    # Whether it is either a name or a word that means nothing: what is searched must tell.
    is_doubtful: bool = False


@dataclass(frozen=True)
class Question:
    """What was understood of a question: what it asks for, the days it means, and whether it wants a time."""

    concepts: tuple[Concept, ...]
    periods: tuple[Period, ...] = ()
    asks_when: bool = False

    @classmethod
    def read(
        cls,
        text: str,
        today: dt.date,
        near_words: Callable[[Sequence[str]], Sequence[Mapping[str, float]]] | None = None,
        languages: tuple[str, ...] = NAMES,
    ) -> "Question":
        """Read a question. `near_words` gives for each word those near it in meaning, each with a weight below 1;
        `languages` are those of the texts searched."""
        text = composed(text)
        parts = dict.fromkeys(part for token in TOKEN.findall(text) for part in parts_of(token))
        doubtful = set(names_too(text))
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
    """Return what of a question is embedded: without names, which dominate a vector and are found by words."""
    if language_of(text) == "german":
        return text
    without = " ".join(NAME.sub(" ", text).split())
    return without if len(without.split()) > 1 else text
