"""Decide whether a text that is to be saved is in the person's own words, or came from another source. Pure.

    possible = TextSources(own=["Remember that I like green tea."], sources=[SourceText("attachment", "offer.pdf", …)])
    source_of("Likes green tea.", possible)     # None: in the person's own words

No model is asked: an obedient one would answer as the text tells it.
"""

import datetime as dt
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from memory.models import Suggestion
from memory.text.languages import language_of
from memory.trust.terms import LIGHT, NEGATION, NUMBER, is_exact, terms_of, weight_of

Kind = Suggestion.Kind

# Sources of which the model may tell something in other words: after one of these, a text needs support in the
# person's own words. Another source must be recognised in the text.
FOREIGN = (Kind.ATTACHMENT, Kind.PASTED, Kind.TOOL, Kind.IMPORTED, Kind.SESSION)
# The share of a text's content that the person's own words have, at least, after a foreign source.
OWN_MIN_SHARE = 0.4
# Sentences of a source that are compared together, because a text may sum them up.
SUMMED_UP_MAX_SENTENCES = 3
# Own messages whose words count together, beside those of the present message.
NEAR_MAX_MESSAGES = 6
# Text of one source that is compared.
SOURCE_MAX_CHARS = 200_000
HAN, KANA = re.compile("[\u4e00-\u9fff]"), re.compile("[\u3040-\u30ff]")
SENTENCE = re.compile(r"(?<=[.!?;。！？；])\s+|(?<=[。！？；])|\n+")
# Time words, by which the person means a date that the model writes out.
RELATIVE_DAY = re.compile(
    r"\b(?:today|tonight|tomorrow|yesterday|week|month|year|(?:mon|tues|wednes|thurs|fri|satur|sun)day|ago|since|old|"
    r"heute|morgen|gestern|woche|monat|jahr|(?:mon|diens|donners|frei|sams|sonn)tag|mittwoch|seit|alt|"
    r"aujourd.hui|demain|hier|semaine|mois|an|ans|année|lundi|mardi|mercredi|jeudi|vendredi|samedi|dimanche|depuis|"
    r"hoy|mañana|ayer|semana|mes|año|años|lunes|martes|miércoles|jueves|viernes|sábado|domingo|desde)s?\b"
    r"|今日|明日|昨日|来週|来月|来年|今年|曜日|歳|今天|明天|昨天|下周|下个月|明年|周|星期|岁",
    re.IGNORECASE,
)


# The beginning of a statement or wish of the person about themselves.
STATEMENT = re.compile(
    r"\W*(?:(?:i|i'm|i’m|i've|i’ve|my|we|we're|our|call me|please remember|remember|always|never|"
    r"ich|mein\w*|wir|unser\w*|nenn mich|duze|siez\w*|merk\w*|immer|nie|je|mon|ma|mes|nous|notre|appelle-moi|"
    r"tutoie-moi|retiens|soy|tengo|estoy|mi|mis|yo|vivo|trabajo|nosotros|llámame|recuerda|siempre|nunca)\b"
    r"|j['’]|私|僕|俺|うち|我)",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class SourceText:
    """A text of a conversation that is not the person's own: its kind, its name for people, and what it says."""

    kind: Suggestion.Kind
    name: str
    text: str
    # Of a conversation.
    path: str = ""

    @property
    def is_foreign(self) -> bool:
        """Return whether a text needs support in the person's own words after this one."""
        return self.kind in FOREIGN


@dataclass(frozen=True)
class TextSources:
    """What a text may come from: the person's own words, those of the present message last, and other sources.

    `names` are names of the person, and `today` is their day.
    """

    own: Sequence[str] = ()
    sources: Sequence[SourceText] = ()
    names: str = ""
    today: dt.date | None = None

    @cached_property
    def language(self) -> str:
        """Return the language whose stems are compared."""
        return language_of("\n".join(self.own[-NEAR_MAX_MESSAGES:]) or "\n".join(each.text for each in self.sources))

    @cached_property
    def own_windows(self) -> list[frozenset[str]]:
        """Return the terms of the person's own words, of neighbouring messages together."""
        known = terms_of(self.names, self.language) | _days_of(self.own, self.today)
        each = [terms_of(text, self.language) for text in self.own]
        last = each[-1] if each else frozenset()
        starts = range(max(1, len(each) - NEAR_MAX_MESSAGES + 1))
        return [frozenset().union(known, last, *each[at : at + NEAR_MAX_MESSAGES]) for at in starts]

    @cached_property
    def source_windows(self) -> list[tuple[SourceText, list[frozenset[str]]]]:
        """Return each source with the terms of its sentences."""
        return [
            (source, [terms for part in sentences(source.text) if (terms := terms_of(part, self.language))])
            for source in self.sources
        ]

    @cached_property
    def is_statement(self) -> bool:
        """Return whether the present message says something of the person, and every foreign source has a text in its
        language, so that the words of a text from there would be recognised."""
        own = self.own[-1] if self.own else ""
        texts = [source.text for source in self.sources if source.is_foreign]
        same = all(text.strip() and _language_of(text) == _language_of(own) for text in texts)
        return bool(STATEMENT.match(own)) and "?" not in own and "？" not in own and same

    @cached_property
    def foreign(self) -> SourceText | None:
        """Return the newest source after which a text needs support in the person's own words."""
        return next((source for source in reversed(self.sources) if source.is_foreign), None)


@dataclass
class _Match:
    """The source that has most of a text, and how much."""

    source: SourceText | None = None
    weight: float = 0.0
    # How many words of it that the person did not say, without those of little content.
    content: int = 0


def source_of(text: str, possible: TextSources) -> SourceText | None:
    """Return the source that `text` came from; None when it is in the person's own words."""
    if not possible.sources:
        return None
    for sentence in sentences(text):
        terms = terms_of(sentence, possible.language)
        if terms and (found := _source_of_terms(terms, possible)):
            return found
    return None


def sentences(text: str) -> Iterator[str]:
    """Yield the sentences and lines of `text` that are not blank."""
    return (part for part in SENTENCE.split(text[:SOURCE_MAX_CHARS]) if part.strip())


def _source_of_terms(terms: frozenset[str], possible: TextSources) -> SourceText | None:
    whole = weight_of(terms)
    own = max((terms & window for window in possible.own_windows), key=weight_of, default=frozenset[str]())
    own_weight, rest = weight_of(own), terms - own
    if not rest:
        return None
    best = _Match()
    for source, parts in possible.source_windows:
        for at, part in enumerate(parts):
            near = part.union(*parts[at + 1 : at + SUMMED_UP_MAX_SENTENCES])
            if near.isdisjoint(rest):
                continue
            if any(is_exact(term) for term in rest & part):
                return source
            # It adds something to the same subject that the person did not say.
            added = {term for term in rest & part if not term.startswith(LIGHT)}
            if weight_of(added) >= 1 and len(terms & part) > len(added):
                return source
            content = sum(not term.startswith(LIGHT) and term != NEGATION for term in rest & near)
            if (weight := weight_of(terms & near)) > best.weight:
                best = _Match(source, weight, content)
    if best.weight > own_weight:
        return best.source
    if possible.foreign and own_weight < OWN_MIN_SHARE * whole:
        # Their own statement in quite other words, of which the sources have none.
        if possible.is_statement and best.content == 0:
            return None
        return best.source or possible.foreign
    return None


def _language_of(text: str) -> str:
    """Return the language of `text`; of unsegmented scripts, the script."""
    if HAN.search(text):
        return "japanese" if KANA.search(text) else "chinese"
    return language_of(text)


def _days_of(own: Sequence[str], today: dt.date | None) -> frozenset[str]:
    """Return the terms of the dates that the person may mean: the present year, and near days after a time word."""
    if today is None:
        return frozenset()
    days = {today + dt.timedelta(days=away) for away in (range(-8, 15) if _names_day(own) else [0])}
    years = {f"{NUMBER}{today.year + away}" for away in (-1, 0, 1)}
    return frozenset(years | {f"{NUMBER}{number}" for day in days for number in (day.day, day.month)})


def _names_day(own: Sequence[str]) -> bool:
    return any(RELATIVE_DAY.search(text) for text in own[-NEAR_MAX_MESSAGES:])
