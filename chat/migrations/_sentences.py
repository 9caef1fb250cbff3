"""Sentences as earlier versions stored them, and the codes with parameters that they become. For migrations alone."""

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from django.db.models import QuerySet

# A code and a template: %(name)s stands for text, %(name)d for a number. Of one code the English template comes first.
Form = tuple[str, str]
Stored = dict[str, Any]
PLACE = re.compile(r"%\\\((\w+)\\\)([sd])")
# What waits to be checked at the end of the transaction is checked, so that the table can be altered.
CHECK_NOW = "SET CONSTRAINTS ALL IMMEDIATE"
# The place of a card in the HTML of an answer, and one of a failed call.
SLOT = '<section class="card card--failed" data-tool="{}"></section>'
FAILED_CARD = re.compile(r'<section class="card card--failed"[^>]*?data-tool="([^"]*)".*?</section>', re.DOTALL)


def parse(forms: Sequence[Form], text: str) -> Stored | None:
    """Return the code and parameters of a known sentence; None for any other text."""
    for code, template in forms:
        if found := re.fullmatch(_pattern(template), text, re.DOTALL):
            kinds = dict(PLACE.findall(re.escape(template)))
            return {"code": code, "params": {name: _value(kinds[name], value) for name, value in found.groupdict().items()}}
    return None


def parse_or_other(forms: Sequence[Form], text: str) -> Stored | None:
    """Return the code and parameters of a sentence; an unknown one is kept as it is, and no text as None."""
    return (parse(forms, text) or {"code": "other", "params": {"text": text}}) if text else None


def english(forms: Sequence[Form], stored: Stored | None) -> str:
    """Return the sentence that earlier versions stored for it."""
    if stored is None:
        return ""
    params = stored["params"]
    for code, template in forms:
        places = {name for name, _ in PLACE.findall(re.escape(template))}
        if code == stored["code"] and places == set(params):
            return template % params
    return str(params.get("text", stored["code"]))


def convert(rows: "QuerySet[Any]", change: Callable[[Any], bool], fields: Sequence[str]) -> None:
    """Save the `fields` of each row that `change` has changed, some at a time."""
    for batch in _batches(row for row in rows.iterator(chunk_size=500) if change(row)):
        rows.model.objects.bulk_update(batch, fields)


def convert_cards(message: Any, change: Callable[[dict[str, Any]], dict[str, Any]]) -> bool:
    """Change the cards of a row of results; whether one is another now."""
    cards = {id: change(card) for id, card in message.meta.get("cards", {}).items()}
    if cards == message.meta.get("cards", {}):
        return False
    message.meta = {**message.meta, "cards": cards}
    return True


def _pattern(template: str) -> str:
    """A kind of space may have become another one."""
    places = PLACE.sub(lambda place: f"(?P<{place[1]}>.*)" if place[2] == "s" else rf"(?P<{place[1]}>\d[\d\s.,'’]*)", re.escape(template))
    return re.sub(r"\\?[ \u00a0\u202f]", r"\\s", places)


def _value(kind: str, value: str) -> str | int:
    return int(re.sub(r"\D", "", value)) if kind == "d" else value


def _batches(rows: Iterator[Any], size: int = 500) -> Iterator[list[Any]]:
    batch: list[Any] = []
    for row in rows:
        batch.append(row)
        if len(batch) == size:
            yield batch
            batch = []
    if batch:
        yield batch
