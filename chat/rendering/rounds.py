"""HTML of context rounds: the marker at the place where a summary ends, and the summary itself."""

import re
from collections.abc import Mapping
from typing import Any

from django.template.loader import render_to_string
from django.utils.safestring import SafeString, mark_safe

from chat.models import ContextRound
from chat.rendering import incremental

# A heading with nothing below it but a hyphen.
EMPTY_SECTION = re.compile(r"^#+ [^\n]+\n+-[ \t]*+(?:\n++(?=#)|\s*+\Z)", re.MULTILINE)


def marker_html(round: ContextRound, *, is_earlier: bool, csrf_token: str = "") -> SafeString:
    """Return the marker after the last message that `round` covers. `is_earlier`: a later one is used."""
    context = {"round": round, "is_earlier": is_earlier, "csrf_token": csrf_token, **sizes(round)}
    return render_to_string("chat/_marker.html", context)


def sizes(round: ContextRound) -> dict[str, float]:
    """Return the thousands of tokens of a request before and after `round`, which templates/chat/_sizes.html shows."""
    return {"before": in_thousands(round.tokens_before), "after": in_thousands(round.tokens_after)}


def summary_of(round: ContextRound) -> dict[str, Any]:
    """Return what templates/chat/_summary.html shows: the summary of `round`, and what is kept word for word."""
    text = EMPTY_SECTION.sub("", round.summary)
    blocks = [mark_safe(html) for html in incremental.blocks(text)]  # noqa: S308 - sanitised there
    supplement: Mapping[str, Any] = round.supplement
    return {
        "round": round,
        "blocks": blocks,
        "identifiers": supplement.get("identifiers", []),
        "wishes": supplement.get("wishes", []),
        "question": supplement.get("question", ""),
        "quoted": supplement.get("quoted", []),
        **sizes(round),
    }


def in_thousands(tokens: int) -> float:
    """Return `tokens` in thousands: whole ones from 10 on, else with one decimal."""
    thousands = tokens / 1000
    return round(thousands) if thousands >= 10 else round(thousands, 1)
