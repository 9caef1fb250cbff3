"""JSON schemas of short answers, and the objects in such answers. Pure.

Request.schema holds a model to a schema where it can be held to one. Every other model answers in the words that its
prompt asks for, so a reader of answers takes both forms.
"""

import json
import re
from collections.abc import Mapping
from typing import Any

STRING: Mapping[str, Any] = {"type": "string"}
_FENCE = re.compile(r"```\w*[^\S\n]*\n(.*?)```", re.DOTALL)


def object_schema(**properties: Mapping[str, Any]) -> dict[str, Any]:
    """Return the schema of an object with exactly these properties."""
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def object_in(answer: str) -> dict[str, Any] | None:
    """Return the JSON object that `answer` is, also in a code fence; None when it is anything else."""
    answer = answer.strip()
    if fenced := _FENCE.fullmatch(answer):
        answer = fenced[1].strip()
    if not answer.startswith("{"):
        return None
    try:
        value = json.loads(answer, strict=False)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def text_in(answer: str, name: str) -> str:
    """Return the text at `name` of the object that `answer` is, or all of `answer` when it is none; "" when the object
    has no text there."""
    found = object_in(answer)
    if found is None:
        return answer
    value = found.get(name)
    return value if isinstance(value, str) else ""
