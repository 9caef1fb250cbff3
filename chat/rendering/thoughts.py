"""The thoughts of local models, whose servers send them as a first <think> block in the text of the answer."""

import re

BEGIN, END = "<think>", "</think>"
# The block, which may have been cut off, with what is blank around it.
THOUGHTS = re.compile(r"\s*<think>(.*?)(?:</think>\s*|\Z)", re.DOTALL)


def parted(text: str) -> tuple[str, str]:
    """Return the thoughts at the beginning of a text of an answer, "" if there are none, and the rest."""
    found = THOUGHTS.match(text)
    return (found[1].strip(), text[found.end() :]) if found else ("", text)


def is_open(text: str) -> bool:
    """Return whether a growing text has thoughts, which may go on."""
    return text.lstrip().startswith(BEGIN) and END not in text


def may_begin(text: str) -> bool:
    """Return whether a growing text, in which no thoughts have begun, may still begin with some."""
    return BEGIN.startswith(text.lstrip())
