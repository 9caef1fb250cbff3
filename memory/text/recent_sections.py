"""Parse Recent Conversations.md: one section for each conversation, newest first. Pure."""

import re
from itertools import pairwise

# The first line of a section; the link holds the id of its conversation.
SECTION = re.compile(r"^## .*\(/c/(?P<id>[0-9a-f-]{36})\)[ \t]*$", re.MULTILINE)
ANY_SECTION = re.compile(r"^## ", re.MULTILINE)


def parts_of(content: str) -> list[str]:
    """Return the text before the first section, and each section."""
    starts = section_starts(content)
    return [content[start:end] for start, end in pairwise([0, *starts, len(content)])]


def conversation_spans(content: str) -> list[tuple[str, int, int]]:
    """Return (id of the conversation, start, end) of each section of a conversation, without sections of people."""
    spans = pairwise([*section_starts(content), len(content)])
    found = ((SECTION.match(content, start), start, end) for start, end in spans)
    return [(ours["id"], start, end) for ours, start, end in found if ours]


def section_starts(content: str) -> list[int]:
    """Return where each section begins."""
    return [found.start() for found in ANY_SECTION.finditer(content)]
