"""Find lines of the curated memory that a new line contradicts or repeats, so that the person decides between them."""

import datetime as dt
import re
from collections.abc import Set
from dataclasses import dataclass, replace

from django.conf import settings
from django.template.loader import get_template

from memory.policy.same_words import occurs_in
from memory.search.manager import HybridSearchManager
from oneclaw import llm
from oneclaw.llm.quoting import quoted
from oneclaw.llm.structured import object_in, object_schema
from oneclaw.models import Space
from oneclaw.spend.calls import Payer

# Lines about the same subject that the model compares with the new one, and the text of each.
COMPARED_MAX_LINES = 5
COMPARED_LINE_MAX_CHARS = 400
ANSWER_MAX_TOKENS = 200


# How a known line is related to the new one, in the answer of the model; others ask the person nothing.
CONTRADICTS, SAME = "contradicts", "same"
RELATIONS = (CONTRADICTS, SAME, "narrower", "unrelated")
_RELATION = rf"(\d+)(?:\s*+(?:[:=–-]\s*+)?({'|'.join(RELATIONS)}))?"
ANSWER = re.compile(rf"(?:{_RELATION}[\s,.;]*)+", re.IGNORECASE)
RELATION = re.compile(_RELATION, re.IGNORECASE)
# Where the model can be held to it. The same for every number of lines, because a server compiles each new schema.
_OF_LINE = object_schema(line={"type": "integer"}, relation={"type": "string", "enum": list(RELATIONS)})
SCHEMA = object_schema(known_lines={"type": "array", "items": _OF_LINE})


@dataclass(frozen=True)
class Contradicted:
    """A line of memory that a new one contradicts, or repeats in other words if the `relation` is SAME; `line` and
    `last_line` count from 1."""

    path: str
    line: int
    last_line: int
    text: str
    relation: str = CONTRADICTS


def find(
    space: Space, path: str, content: str, today: dt.date, payer: Payer, newer: Set[str] = frozenset()
) -> list[Contradicted]:
    """Return the lines of the document at `path` that `content`, which is already saved there, contradicts or repeats.

    The lines `newer`, which were saved after it, do not count: they are compared with it. Return none when the setting
    CONTRADICTIONS is off. Raise ModelRequestError when the model fails.
    """
    if not settings.CONTRADICTIONS:
        return []
    # No minimal score: the model decides whether the nearest lines are about the same subject.
    found = HybridSearchManager([space]).search(
        content[:1000], COMPARED_MAX_LINES + 1, min_score=0, today=today, slack=0
    )
    lines = [
        Contradicted(passage.path, passage.start_line, passage.end_line, passage.snippet[:COMPARED_LINE_MAX_CHARS])
        for passage in found
        if passage.path == path
        and not occurs_in(passage.snippet, content)
        and newer.isdisjoint(passage.snippet.split("\n"))
    ][:COMPARED_MAX_LINES]
    if not lines:
        return []
    relations = _asked(content, lines, payer)
    return [
        replace(line, relation=relations[number])
        for number, line in enumerate(lines, 1)
        if relations.get(number) in (CONTRADICTS, SAME)
    ]


def _asked(content: str, lines: list[Contradicted], payer: Payer) -> dict[int, str]:
    numbered = "\n".join(f"{number}. {' '.join(line.text.split())}" for number, line in enumerate(lines, 1))
    lines_to_compare = f"{quoted('new_line', content[:1000])}\n\n{quoted('known_lines', numbered)}"
    asked = f"{lines_to_compare}\n\nAnswer with numbers and words, or NONE."
    request = llm.Request(
        model=settings.FAST_MODEL,
        system=[{"type": "text", "text": get_template("contradiction.txt", using="prompts").render({}).strip()}],
        messages=[{"role": "user", "content": asked}],
        max_tokens=ANSWER_MAX_TOKENS,
        thinks=False,
        schema=SCHEMA,
    )
    return relations_in(llm.complete_sync(request, payer))


def relations_in(answer: str) -> dict[int, str]:
    """Return the relation of each line that the model's `answer` names, by its number. Pure.

    An answer that is neither an object of SCHEMA nor numbers with words names none, and a number without a word is a
    contradiction.
    """
    if (held := object_in(answer)) is not None:
        named = held.get("known_lines")
        lines = [each for each in named if isinstance(each, dict)] if isinstance(named, list) else []
        pairs = [(each.get("line"), each.get("relation")) for each in lines]
        return {number: word for number, word in pairs if type(number) is int and word in RELATIONS}
    answer = answer.strip()
    found = RELATION.findall(answer) if ANSWER.fullmatch(answer) else []
    return {int(number): word.lower() or CONTRADICTS for number, word in found}
