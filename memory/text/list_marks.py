"""Take the marks of Markdown lists off lines that are shown by themselves."""

import re

LIST_MARK = re.compile(r"\s*(?:[-*+•]|\d{1,3}[.)])\s+(?:\[[ xX]\]\s+)?")


def without_list_mark(text: str) -> str:
    """Return `text` without the mark of a list at its beginning: "- [ ] Call Ben" is "Call Ben"."""
    match = LIST_MARK.match(text)
    return text[match.end() :] if match else text


def without_list_marks(text: str) -> str:
    """Return `text` without the marks of lists, on each of its lines."""
    return "\n".join(map(without_list_mark, text.split("\n")))
