"""Parse a question: its words as concepts, the days that it names, and whether it asks for a time."""

import datetime as dt
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from memory.text.dates import TIME_WORDS, Period, asks_when, periods_meant
from memory.text.languages import ASKING_WORDS, FUNCTION_WORDS, LANGUAGE_NAMES, STOP_WORDS, language_of
from memory.text.terms import (
    TOKEN,
    UNSEGMENTED,
    WORD,
    name_like_stop_words,
    normalize,
    parts_of,
    plain,
    speaker_number,
    stems_of,
    term_number,
)

# A capitalised word that does not begin a sentence: mostly a name. (In German it is any noun.)
NAME = re.compile(r"(?<=[\w,;:'’\"“(-] )[\"“(]?[A-ZÀ-ÖØ-ÞА-Я][\w'’-]*")
ENGLISH = ("english",)
# How much a name says, by which factor a German noun says more than other words, and how much a pair of characters of a
# text without spaces; hiragana are mostly grammar.
NAME_SUBSTANCE, NOUN_SUBSTANCE, PAIR_SUBSTANCE, KANA_SUBSTANCE = 1.5, 1.3, 0.5, 0.1
HIRAGANA = re.compile("[\u3040-\u309f]+")
# Longer questions are messages that say more than the question.
SHORT_QUESTION_MAX_WORDS = 16
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
    # How much it says of what the question is about: nothing if it only asks, little if it is common in all texts.
    substance: float = 1.0


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
        rarities: Callable[[Sequence[str]], Sequence[float]] | None = None,
    ) -> "ParsedQuestion":
        """Parse the question `text`; `today` is the person's own day, from which relative days count.

        `near_words` returns for each word those close in meaning, each with a weight below 1; `languages` are those of
        the texts to search; `rarities` returns for each word how rare it is in texts of any kind, from 0 to 1.
        """
        text = normalize(text)
        parts = dict.fromkeys(part for token in TOKEN.findall(text) for part in parts_of(token))
        doubtful = set(name_like_stop_words(text))
        language = language_of(text)
        stops = stop_words_of(parts, language)
        wanted = [part for part in parts if plain(part) not in stops or _bare(part) in doubtful] or list(parts)
        stems = tuple(sorted({language, *languages}))
        capitalised = {name for found in NAME.findall(text) for name in WORD.findall(found)}
        # In German every noun is.
        names = set() if language == "german" else capitalised
        periods = tuple(periods_meant(text, today))
        wanted = wanted[:QUESTION_MAX_WORDS]
        near = near_words([plain(part) for part in wanted]) if near_words else [{}] * len(wanted)
        substances = substances_of(wanted, language, capitalised, rarities)
        concepts = (
            Concept(
                {term: weight for other, weight in others.items() for term in stems_of(other, ENGLISH)}
                | dict.fromkeys(stems_of(part, stems), 1.0),
                speaker_number(part),
                part in names and plain(part) not in TIME_WORDS,
                bool(periods) and plain(part) in TIME_WORDS,
                _bare(part) in doubtful,
                substance,
            )
            for part, others, substance in zip(wanted, near, substances, strict=True)
        )
        return cls(tuple(concepts), periods, asks_when(text))


def stop_words_of(words: Iterable[str], language: str) -> frozenset[str]:
    """Return the words that a question in `language` with these `words` is not searched for.

    A single function word of another language than English may be a name or a word of a title: "Die Hard".
    """
    own = frozenset(FUNCTION_WORDS[language].split())
    return STOP_WORDS | own if sum(plain(word) in own for word in words) > 1 else STOP_WORDS


def substances_of(
    words: Sequence[str],
    language: str,
    names: Collection[str] = (),
    rarities: Callable[[Sequence[str]], Sequence[float]] | None = None,
) -> list[float]:
    """Return for each of the `words` of a question how much it says of what the question is about.

    That is from 0 to 1, and NAME_SUBSTANCE for one of `names`. A word with the same stem as an earlier one adds
    nothing. If all words only ask, each counts in full.
    """
    rare = rarities(words) if rarities else [1.0] * len(words)
    empty = ASKING_WORDS | set(FUNCTION_WORDS[language].split())
    seen: set[frozenset[int]] = set()
    found = []
    for word, rarity in zip(words, rare, strict=True):
        stems = stems_of(plain(word), (language,)) - {term_number("=" + plain(word))}
        if plain(word) in empty or stems in seen:
            found.append(0.0)
        elif UNSEGMENTED.fullmatch(word):
            found.append(KANA_SUBSTANCE if HIRAGANA.fullmatch(word) else PAIR_SUBSTANCE)
        elif word not in names or plain(word) in TIME_WORDS:
            found.append(rarity)
        else:
            found.append(rarity * NOUN_SUBSTANCE if language == "german" else NAME_SUBSTANCE)
        seen.add(stems)
    return found if any(found) else [1.0] * len(words)


def _bare(part: str) -> str:
    return part.replace("’", "'").removesuffix("'s")


def text_to_embed(text: str) -> str:
    """Return the part of the question `text` to embed.

    A short question has no names, which dominate its vector and are found by words. A long one has only the words that
    say what it is about, because the others would dominate.
    """
    language = language_of(text)
    words = text.split()
    if len(words) > SHORT_QUESTION_MAX_WORDS:
        empty = STOP_WORDS | ASKING_WORDS | set(FUNCTION_WORDS[language].split())
        telling = [word for word in words if not all(plain(each) in empty for each in WORD.findall(word))]
        return " ".join(telling) or text
    if language == "german":
        return text
    without = " ".join(NAME.sub(" ", text).split())
    return without if len(without.split()) > 1 else text
