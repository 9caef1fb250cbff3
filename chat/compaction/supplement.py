"""What is kept word for word with a summary: wishes, names and numbers, and the person's newest messages. Pure.

No model takes part, so nothing of it can be lost or changed by one.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TypedDict

from oneclaw.llm.estimate import text_tokens

# Limits: identifiers, the part of one message that is quoted, and one sentence of a wish.
IDENTIFIERS_MAX_COUNT = 60
IDENTIFIER_MAX_CHARS = 200
QUOTED_MESSAGE_MAX_CHARS = 400
WISH_MAX_CHARS = 300
WISHES_MAX_COUNT = 30
# An unanswered question is kept whole up to this.
QUESTION_MAX_CHARS = 8_000

SENTENCE = re.compile(r"[^\n.!?。！？]+(?:[.!?](?!\s|$)[^\n.!?。！？]*)*[.!?。！？]*")
# Words with which a person says how it shall be from now on.
WISH = re.compile(
    r"\b(?:from now on|always|never|whenever|every time|in future|in the future|do not ever|don['’]t ever"
    r"|ab jetzt|ab sofort|von nun an|künftig|immer wenn|immer|nie|niemals|jedes mal"
    r"|désormais|dorénavant|toujours|jamais|à partir de maintenant"
    r"|a partir de ahora|de ahora en adelante|siempre|nunca|jamás)\b"
    r"|今后|以后都|总是|永远|从现在起|今後|これから|いつも|必ず|絶対に",
    re.IGNORECASE,
)
# In the order of their worth when there are more than fit.
IDENTIFIERS = re.compile(
    "|".join(
        (
            # A UUID.
            r"\b[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}\b",
            # An address, of the web or of mail.
            r"\b(?:https?|ftp|postgres(?:ql)?|redis|s3|ssh)://[^\s<>\"'`)\]]+",
            r"\b[\w.+-]+@[\w-]+(?:\.[\w-]+)+\b",
            # A name between backticks.
            r"`[^`\n]{2,120}`",
            # A path.
            r"(?<![\w/])(?:~|\.{1,2})?/[\w.@%+-]+(?:/[\w.@%+-]+)+/?|\b[A-Za-z]:\\[^\s\"'<>|]+",
            # A ticket, such as AB-123, or #123.
            r"\b[A-Z][A-Z0-9]{1,9}-\d{1,7}\b|(?<!\w)#\d{2,7}\b",
            # A date, and a time.
            r"\b\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}(?::\d{2})?(?:Z|[+-]\d{2}:?\d{2})?)?\b",
            r"\b\d{1,2}[./]\d{1,2}[./]\d{2,4}\b|\d{4}年\d{1,2}月\d{1,2}日",
            # An amount with its unit or currency.
            r"(?:[$€£¥]\s?|(?:CHF|EUR|USD|GBP|JPY)\s)\d[\d.,'’]*\d|(?:[$€£¥]\s?)\d"
            r"|\d[\d.,'’]*\s?(?:€|%|°C|°F|円|元|CHF|EUR|USD|GBP|JPY|kg|km|cm|mm|ml|GB|MB|kB|TB|kWh|MHz|GHz|m²)",
            # A version.
            r"\bv?\d+\.\d+\.\d+(?:[-+.][\w.]+)?\b",
            # A long number, such as of an account or a telephone.
            r"(?<![\w.])\+?\d(?:[\d ]{6,18})\d\b",
        )
    )
)


class Supplement(TypedDict, total=False):
    """What is kept with a summary, as a ContextRound stores it; a missing key is empty."""

    # Sentences in which the person says how it shall be from now on, oldest first.
    wishes: list[str]
    # Names, numbers and addresses, byte for byte, in the order in which they were said.
    identifiers: list[str]
    # What extensions want to be kept.
    notes: list[str]
    # A message of the person that was not answered.
    question: str
    # The beginnings of the person's newest messages, oldest first.
    quoted: list[str]


@dataclass(frozen=True)
class SaidMessage:
    """A message of the range that a summary covers."""

    is_persons: bool
    text: str


def supplement_of(
    said: Sequence[SaidMessage], earlier: Supplement, max_tokens: int, chars_per_token: float
) -> Supplement:
    """Return the supplement of a summary of `said`, oldest first, which replaces one with the supplement `earlier`.

    `max_tokens` limits the quoted messages.
    """
    persons = [message.text for message in said if message.is_persons and message.text.strip()]
    unanswered = said[-1].text if said and said[-1].is_persons else ""
    wishes = newest([*earlier.get("wishes", []), *wishes_in(persons)], WISHES_MAX_COUNT)
    found: Supplement = {
        "wishes": wishes,
        "identifiers": chosen_identifiers(said, earlier.get("identifiers", [])),
        "question": unanswered[:QUESTION_MAX_CHARS],
        "quoted": quoted_messages(persons, max_tokens, chars_per_token),
    }
    return found


def wishes_in(texts: Iterable[str]) -> list[str]:
    """Return the sentences of `texts` that say how it shall be from now on."""
    sentences = (found.group().strip() for text in texts for found in SENTENCE.finditer(text))
    return [each[:WISH_MAX_CHARS] for each in sentences if WISH.search(each) and not each.endswith(("?", "？"))]


def identifiers_in(text: str) -> list[str]:
    """Return the names, numbers and addresses in `text`, byte for byte, in order and each once."""
    found = (each.group().rstrip(".,;:!?") for each in IDENTIFIERS.finditer(text))
    return list(dict.fromkeys(each for each in found if len(each) <= IDENTIFIER_MAX_CHARS))


def chosen_identifiers(said: Sequence[SaidMessage], earlier: Sequence[str]) -> list[str]:
    """Return at most IDENTIFIERS_MAX_COUNT identifiers of `earlier` and of `said`.

    Those of the person go before those of others, and newer ones before older ones.
    """
    persons: dict[str, None] = dict.fromkeys(earlier)
    others: dict[str, None] = {}
    for message in said:
        for each in identifiers_in(message.text):
            if message.is_persons:
                # Said again: it counts as new.
                persons.pop(each, None)
                persons[each] = None
            else:
                others.pop(each, None)
                others[each] = None
    own = list(persons)[-IDENTIFIERS_MAX_COUNT:]
    room = IDENTIFIERS_MAX_COUNT - len(own)
    rest = [each for each in others if each not in persons]
    return (rest[-room:] if room else []) + own


def quoted_messages(texts: Sequence[str], max_tokens: int, chars_per_token: float) -> list[str]:
    """Return the beginnings of the newest of `texts` that fit into `max_tokens`, oldest first."""
    found: list[str] = []
    for text in reversed(texts):
        words = " ".join(text.split())
        words = words if len(words) <= QUOTED_MESSAGE_MAX_CHARS else words[: QUOTED_MESSAGE_MAX_CHARS - 1] + "…"
        max_tokens -= text_tokens(words, chars_per_token)
        if max_tokens < 0:
            break
        found.append(words)
    return found[::-1]


def newest(texts: Sequence[str], limit: int) -> list[str]:
    """Return the last `limit` different ones of `texts`, in order."""
    last = dict.fromkeys(reversed(texts))
    return list(last)[:limit][::-1]
