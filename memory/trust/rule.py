"""Decide whether what the model saves is saved at once, or waits for the person's yes. Pure.

The rule, and all of it:

1. Without foreign text in what the model was sent, everything that it saves is saved at once.
2. With foreign text, at once is saved only what the words typed in the present message, together with lines of the
   person's own memory, say; everything else waits in the inbox.

What is foreign and what was typed is gathered from rows (memory/trust/sources.py). No model is asked: an obedient one
would answer as the text tells it. A text is never compared with the foreign text, because encoded or translated text
shares no words with what is made of it.
"""

import datetime as dt
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from memory.models import Suggestion
from memory.text.languages import language_of
from memory.trust.terms import NEGATION, NUMBER, Terms

Kind = Suggestion.Kind

# Text of one source that is read to name the nearest one.
SOURCE_MAX_CHARS = 200_000
SENTENCE = re.compile(r"(?<=[.!?;。！？；])\s+|(?<=[。！？；])|\n+")
QUESTION = re.compile(r"[?？][\s*_)\"”»]*\Z")
# In a text in lower case, as RELATIVE_DAY.
REMEMBERING = re.compile(
    r"\b(?=\w)(?:remember|memori[sz]e|note[rz]?|save|merk\w*|notier\w*|speicher\w*|vergiss|retiens|rappelle\w*|souviens|"
    r"enregistre\w*|recuerd\w*|guarda\w*|anota\w*|memoriza)\b|覚え|記憶|メモ|记住|記住|记下|保存"
)
# Time words, by which the person means a date that the model writes out.
RELATIVE_DAY = re.compile(
    r"\b(?=\w)(?:today|tonight|tomorrow|yesterday|week|month|year|(?:mon|tues|wednes|thurs|fri|satur|sun)day|ago|since|"
    r"old|heute|morgen|gestern|woche|monat|jahr|(?:mon|diens|donners|frei|sams|sonn)tag|mittwoch|seit|alt|"
    r"aujourd.hui|demain|hier|semaine|mois|an|ans|année|lundi|mardi|mercredi|jeudi|vendredi|samedi|dimanche|depuis|"
    r"hoy|mañana|ayer|semana|mes|año|años|lunes|martes|miércoles|jueves|viernes|sábado|domingo|desde)s?\b"
    r"|今日|明日|昨日|来週|来月|来年|今年|曜日|歳|今天|明天|昨天|下周|下个月|明年|周|星期|岁"
)


@dataclass(frozen=True)
class SourceText:
    """A text of a conversation that is not the person's own: its kind, its name for people, and what it says.

    `writer` is the id of the member who wrote or added it, of a shared conversation.
    """

    kind: Suggestion.Kind
    name: str
    text: str
    writer: int | None = None


@dataclass(frozen=True)
class Sent:
    """What the model was sent, by whose words it is.

    `foreign` are the texts of others, the newest last; `typed` the words that the person typed in the present message,
    or in each message that is noted; `memory` the person's own memory. `names` are names of the person, and `today` is
    their day.
    """

    foreign: Sequence[SourceText] = ()
    typed: Sequence[str] = ()
    memory: Sequence[str] = ()
    names: str = ""
    today: dt.date | None = None

    @cached_property
    def language(self) -> str:
        """Return the language whose stems are compared."""
        return language_of("\n".join(self.typed))

    @cached_property
    def statements(self) -> list[Terms]:
        """Return the terms of each typed sentence; a question says nothing, unless it asks to remember."""
        found = (part for text in self.typed for part in sentences(text))
        said = (part for part in found if not QUESTION.search(part) or REMEMBERING.search(part.lower()))
        return [Terms.of(part, self.language) for part in said]

    @cached_property
    def memory_lines(self) -> list[Terms]:
        """Return the terms of each line of the person's own memory."""
        return [Terms.of(line, self.language) for text in self.memory for line in text.split("\n") if line.strip()]

    @cached_property
    def always_known(self) -> frozenset[str]:
        """Return the terms of the person's names, of the year, and of near days when the person named one by a time
        word."""
        names = Terms.of(self.names, self.language).content
        if self.today is None:
            return names
        is_near = any(RELATIVE_DAY.search(text.lower()) for text in self.typed)
        days = {self.today + dt.timedelta(days=away) for away in (range(-8, 15) if is_near else [0])}
        years = {f"{NUMBER}{self.today.year + away}" for away in ((-1, 0, 1) if is_near else [0])}
        near = {f"{NUMBER}{number}" for day in days for number in (day.day, day.month)} if is_near else set()
        return names | years | near


def source_of(text: str, sent: Sent) -> SourceText | None:
    """Return the foreign text because of which `text` waits for a yes; None when it is saved at once."""
    if not sent.foreign or all(_is_said(part, sent) for part in sentences(text)):
        return None
    return _nearest(text, sent)


def sentences(text: str) -> Iterator[str]:
    """Yield the sentences and lines of `text` that are not blank."""
    return (part for part in SENTENCE.split(text) if part.strip())


def _is_said(sentence: str, sent: Sent) -> bool:
    """Return whether the typed words, together with lines of the person's memory, say the whole of `sentence`."""
    wanted = Terms.of(sentence, sent.language)
    near = [said for said in sent.statements if said.content & wanted.content]
    typed = frozenset[str]().union(*(said.content for said in near))
    spelled = "\n".join(said.spelled for said in sent.statements)
    lines = [line for line in sent.memory_lines if line.content & typed & wanted.content]
    remembered = frozenset[str]().union(*(line.content for line in lines))
    own = wanted.content & typed
    added = wanted.content - typed - sent.always_known
    return bool(
        own
        and added <= remembered
        and len(added) <= len(own)
        and (NEGATION in wanted.marks) == any(NEGATION in said.marks for said in near)
        and all(run in spelled for run in wanted.other)
    )


def _nearest(text: str, sent: Sent) -> SourceText:
    """Return the foreign text that shares the most words with `text`, the newest of equals."""
    wanted = Terms.of(text, sent.language).content
    shared = [len(wanted & Terms.of(each.text[:SOURCE_MAX_CHARS], sent.language).content) for each in sent.foreign]
    return max(zip(shared, range(len(shared)), sent.foreign, strict=True), key=lambda each: each[:2])[2]
