"""What is kept word for word with a summary: wishes, names and numbers, and the person's newest messages. Pure.

No model takes part, so nothing of it can be lost or changed by one.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
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

# A sentence ends at a line break, or at a mark before a space: not at the period of an ordinal number, or of an
# abbreviation, which is one letter, a title, or before a small letter. Marks of Chinese and Japanese need no space.
SENTENCE_END = re.compile(
    r"\n+|[。！？]+|(?<![!?])[!?]+(?=\s|$)"
    r"|(?<!\b\w)(?<![\d.])(?<!\b(?:Dr|Mr|Ms|Nr|No|St|Fr|Hr))(?<!\bMrs)(?<!\bProf)\.+(?=\s+[^\sa-zà-öø-ÿ]|\s*$)"
)
# Words with which a person says how it shall be.
EVER = (
    "always|never|whenever|every time|do not ever|don['’]t ever|immer wenn|immer|nie|niemals|jedes mal"
    "|toujours|jamais|siempre|nunca|jamás"
)
# What is said for nothing else, or as a request; in a text in lower case, as WISH.
LASTING_WISH = re.compile(
    r"\b(?=\w)(?:from now on|in future|in the future|ab jetzt|ab sofort|von nun an|künftig"
    r"|désormais|dorénavant|à partir de maintenant|a partir de ahora|de ahora en adelante)\b"
    rf"|^(?:please,? |bitte )?(?:{EVER})\b"
    r"|今后|以后都|从现在起|今後|これからは|(?:いつも|常に|必ず|絶対に|決して).{0,200}(?:ください|下さい)"
)
WISH = re.compile(rf"{LASTING_WISH.pattern}|\b(?=\w)(?:{EVER})\b|总是|永远|これから|いつも|常に|必ず|絶対に|決して")
# Names of months in the languages of the page that have some.
MONTHS = (
    "January|February|March|April|May|June|July|August|September|October|November|December"
    "|Jan|Feb|Mar|Apr|Jun|Jul|Aug|Sept?|Oct|Nov|Dec"
    "|Januar|Februar|März|Mai|Juni|Juli|Oktober|Dezember"
    "|janvier|février|mars|avril|mai|juin|juillet|août|septembre|octobre|novembre|décembre"
    "|enero|febrero|marzo|abril|mayo|junio|julio|agosto|septiembre|octubre|noviembre|diciembre"
)
CURRENCIES = "CHF|EUR|USD|GBP|JPY|CNY"
UNITS = f"€|%|°C|°F|円|元|万円|{CURRENCIES}|kg|km|cm|mm|ml|GB|MB|kB|TB|kWh|MHz|GHz|m²"
# A number with its marks. Numbers and names have a limit, so that a long text takes a time in proportion to its length.
NUMBER = r"\d(?:[\d.,'’]{0,30}\d)?"
# Before and after a name of ASCII letters. Chinese and Japanese have no spaces around it, and count as letters to \b.
BEFORE, AFTER = r"(?<![A-Za-z0-9_])", r"(?![A-Za-z0-9_])"
# In the order of their worth when there are more than fit.
IDENTIFIERS = re.compile(
    "|".join(
        (
            # A UUID.
            BEFORE + r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}" + AFTER,
            # An address, of the web or of mail.
            BEFORE + r"(?:https?|ftp|postgres(?:ql)?|redis|s3|ssh)://[^\s<>\"'`)\]、。」]+",
            r"(?<![\w.+-])[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,8}",
            # A name between backticks.
            r"`[^`\n]{2,120}`",
            # A path.
            r"(?<![A-Za-z0-9_/])(?:~|\.{1,2})?/[\w.@%+-]{1,255}(?:/[\w.@%+-]{1,255})+/?"
            rf"|{BEFORE}[A-Za-z]:\\[^\s\"'<>|]+",
            # A ticket, such as AB-123, or #123.
            rf"{BEFORE}[A-Z][A-Z0-9]{{1,9}}-\d{{1,7}}{AFTER}|(?<![A-Za-z0-9_&])#\d{{2,7}}{AFTER}",
            # A date, and a time.
            rf"{BEFORE}\d{{4}}-\d{{2}}-\d{{2}}(?:[T ]\d{{2}}:\d{{2}}(?::\d{{2}})?(?:Z|[+-]\d{{2}}:?\d{{2}})?)?{AFTER}",
            rf"{BEFORE}\d{{1,2}}[./]\d{{1,2}}[./]\d{{2,4}}{AFTER}|(?:\d{{4}}年)?\d{{1,2}}月\d{{1,2}}日",
            rf"{BEFORE}\d{{1,2}}(?:st|nd|rd|th|er|\.)? (?:de )?(?:{MONTHS})(?:,? (?:de )?\d{{4}})?{AFTER}",
            rf"{BEFORE}(?:{MONTHS}) \d{{1,2}}(?:st|nd|rd|th)?(?:,? \d{{4}})?{AFTER}",
            # An amount with its unit or currency.
            rf"(?:[$€£¥]\s?|{BEFORE}(?:{CURRENCIES})\s){NUMBER}",
            rf"(?<!\d)(?<!\d[.,'’]){NUMBER}\s?(?:{UNITS})(?![A-Za-z])",
            # A version.
            rf"{BEFORE}v?\d{{1,9}}\.\d{{1,9}}\.\d{{1,9}}(?:[-+.][\w.]{{1,60}})?{AFTER}",
            # A long number, such as of an account or a telephone.
            rf"(?<![A-Za-z0-9_.])\+?\d[\d ]{{6,18}}\d{AFTER}",
        )
    )
)


class Supplement(TypedDict, total=False):
    """What is kept with a summary, as a ContextRound stores it; a missing key is empty."""

    # Sentences in which the person says how it shall be from now on, oldest first.
    wishes: list[str]
    # Names, numbers and addresses, byte for byte, in the order in which they were said.
    identifiers: list[str]
    # Those of them that only others than the person have said, such as results of tools.
    from_others: list[str]
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

    `max_tokens` limits each part of it: in a small window, more would leave no room for the conversation.
    """
    persons = [message.text for message in said if message.is_persons and message.text.strip()]
    unanswered = said[-1].text if said and said[-1].is_persons else ""
    wishes = kept_wishes([*earlier.get("wishes", []), *wishes_in(persons)], max_tokens, chars_per_token)
    identifiers, from_others = chosen_identifiers(
        said, earlier.get("identifiers", []), frozenset(earlier.get("from_others", ()))
    )
    # Those of others come first.
    identifiers = newest_within(identifiers, max_tokens, chars_per_token)
    found: Supplement = {
        "wishes": wishes,
        "identifiers": identifiers,
        "from_others": [each for each in from_others if each in identifiers],
        "question": cut_to(unanswered[:QUESTION_MAX_CHARS], max_tokens, chars_per_token),
        "quoted": quoted_messages(persons, max_tokens, chars_per_token),
    }
    return found


def wishes_in(texts: Iterable[str]) -> list[str]:
    """Return the sentences of `texts` that say how it shall be from now on."""
    sentences = (each for text in texts for each in sentences_of(text))
    return [each[:WISH_MAX_CHARS] for each in sentences if WISH.search(each.lower()) and not each.endswith(("?", "？"))]


def sentences_of(text: str) -> Iterator[str]:
    """Yield the sentences of `text`, as they were written."""
    start = 0
    for end in SENTENCE_END.finditer(text):
        yield text[start : end.end()].strip()
        start = end.end()
    yield text[start:].strip()


def kept_wishes(wishes: Sequence[str], max_tokens: int, chars_per_token: float) -> list[str]:
    """Return at most WISHES_MAX_COUNT of `wishes`, oldest first and each once: those that are surely meant to last go
    before others, and newer ones before older ones. All of them have at most `max_tokens`."""
    found = newest(wishes, len(wishes))
    lasting = [each for each in found if LASTING_WISH.search(each.lower())]
    others = [each for each in found if not LASTING_WISH.search(each.lower())]
    kept = set(newest_within([*others, *lasting][-WISHES_MAX_COUNT:], max_tokens, chars_per_token))
    return [each for each in found if each in kept]


def identifiers_in(text: str) -> list[str]:
    """Return the names, numbers and addresses in `text`, byte for byte, in order and each once."""
    found = (each.group().rstrip(".,;:!?") for each in IDENTIFIERS.finditer(text))
    return list(dict.fromkeys(each for each in found if len(each) <= IDENTIFIER_MAX_CHARS))


def chosen_identifiers(
    said: Sequence[SaidMessage], earlier: Sequence[str], earlier_from_others: Collection[str]
) -> tuple[list[str], list[str]]:
    """Return at most IDENTIFIERS_MAX_COUNT identifiers of `earlier` and of `said`, and which of them are not the
    person's.

    Those of the person go before those of others, and newer ones before older ones.
    """
    persons = dict.fromkeys(each for each in earlier if each not in earlier_from_others)
    others = dict.fromkeys(each for each in earlier if each in earlier_from_others)
    for message in said:
        found = persons if message.is_persons else others
        for each in identifiers_in(message.text):
            # Said again: it counts as new.
            found.pop(each, None)
            found[each] = None
    own = list(persons)[-IDENTIFIERS_MAX_COUNT:]
    room = IDENTIFIERS_MAX_COUNT - len(own)
    rest = [each for each in others if each not in persons]
    from_others = rest[-room:] if room else []
    return from_others + own, from_others


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


def newest_within(texts: Sequence[str], max_tokens: int, chars_per_token: float) -> list[str]:
    """Return the last of `texts` that fit into `max_tokens`, in order."""
    found: list[str] = []
    for text in reversed(texts):
        max_tokens -= text_tokens(text, chars_per_token)
        if max_tokens < 0:
            break
        found.append(text)
    return found[::-1]


def cut_to(text: str, max_tokens: int, chars_per_token: float) -> str:
    """Return `text`, or the first part of it that fits into about `max_tokens`."""
    size = text_tokens(text, chars_per_token)
    return text if size <= max_tokens else text[: len(text) * max_tokens // size] + "…"


def newest(texts: Sequence[str], limit: int) -> list[str]:
    """Return the last `limit` different ones of `texts`, in order."""
    last = dict.fromkeys(reversed(texts))
    return list(last)[:limit][::-1]
