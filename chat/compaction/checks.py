"""Check the summary that a model wrote, before it replaces messages. Pure."""

import re
from collections.abc import Sequence
from enum import StrEnum

from oneclaw.llm.estimate import CJK

HEADINGS = (
    "Wanted",
    "Agreed",
    "Facts, names, numbers, dates",
    "Done",
    "Open",
    "Standing wishes",
    "Files and tools",
    "How it stands now",
)
# A summary is at most this share of what it covers, unless that is short.
LENGTH_MAX_SHARE = 0.5
SHORT_MAX_CHARS = 4_000
# Words of our own instructions in a row that a summary may not repeat.
REPEATED_MAX_WORDS = 8
# The share of characters of Chinese, Japanese or Korean from which a text counts as written in one of them, and below
# which it is certainly written in another language.
CJK_MIN_SHARE, CJK_NAMES_MAX_SHARE = 0.3, 0.05
WORD = re.compile(r"\w+")


class Check(StrEnum):
    """A reason for which a summary was rejected, or something that is still to be done for a round."""

    EMPTY = "empty"
    HEADINGS = "headings"
    TOO_LONG = "too_long"
    OTHER_LANGUAGE = "other_language"
    INSTRUCTIONS = "instructions"
    FORGOTTEN = "forgotten"
    # The provider could not summarise; another maker did.
    NOT_BY_API = "not_by_api"
    # Another round replaced it before it was used.
    SUPERSEDED = "superseded"
    # It is used before what it replaces was noted.
    FLUSH_OWED = "flush_owed"


class SummaryRejectedError(Exception):
    """The summary that a model wrote cannot replace messages."""

    def __init__(self, check: Check) -> None:
        super().__init__(f"The summary was rejected: {check}.")
        self.check = check


def check_summary(
    summary: str,
    covered_texts: Sequence[str],
    instructions: str,
    *,
    earlier: str = "",
    max_chars: int | None = None,
    has_headings: bool = True,
) -> None:
    """Raise SummaryRejectedError unless `summary` can stand for the summary `earlier` and for `covered_texts`.

    `instructions` is the prompt of its writer, and `max_chars` the characters that there is room for. The provider's
    own summaries have no headings of ours.
    """
    if not summary.strip():
        raise SummaryRejectedError(Check.EMPTY)
    found = {line.lstrip("#* ").rstrip("*: ").lower() for line in summary.splitlines() if line.startswith(("#", "**"))}
    if has_headings and not all(heading.lower() in found for heading in HEADINGS):
        raise SummaryRejectedError(Check.HEADINGS)
    # The earlier summary may stay as long as it is.
    room = max(SHORT_MAX_CHARS, len(earlier) + LENGTH_MAX_SHARE * sum(map(len, covered_texts)))
    if len(summary) > min(room, max_chars or room):
        raise SummaryRejectedError(Check.TOO_LONG)
    if is_of_other_script(without_headings(summary), "".join([earlier, *covered_texts])):
        raise SummaryRejectedError(Check.OTHER_LANGUAGE)
    if repeats(without_headings(summary), instructions):
        raise SummaryRejectedError(Check.INSTRUCTIONS)


def without_headings(summary: str) -> str:
    """Return the lines of a summary that are no headings."""
    return "\n".join(line for line in summary.splitlines() if not line.startswith("#"))


def is_of_other_script(summary: str, covered: str) -> bool:
    """Return whether only one of the two is written in Chinese, Japanese or Korean."""
    if cjk_share(covered) > CJK_MIN_SHARE:
        return cjk_share(summary) <= CJK_MIN_SHARE
    return cjk_share(covered) < CJK_NAMES_MAX_SHARE and cjk_share(summary) > CJK_MIN_SHARE


def cjk_share(text: str) -> float:
    """Return the share of Chinese, Japanese and Korean in the letters of `text`."""
    return len(CJK.findall(text)) / max(1, sum(each.isalpha() for each in text))


def repeats(text: str, instructions: str) -> bool:
    """Return whether `text` has REPEATED_MAX_WORDS words in a row of `instructions`."""

    def runs(source: str) -> set[tuple[str, ...]]:
        words = WORD.findall(source.lower())
        return {tuple(words[at : at + REPEATED_MAX_WORDS]) for at in range(len(words) - REPEATED_MAX_WORDS + 1)}

    return bool(runs(text) & runs(instructions))
