"""Quote untrusted text in a prompt as data, within a budget, against prompt injection. Pure."""

import re


def quoted(tag: str, text: str, **attributes: str) -> str:
    """Return `text` between <tag> and </tag>, with every such tag inside it escaped."""
    inside = re.sub(rf"<(?=\s*+(?:/\s*+)?{re.escape(tag)}\b)", "&lt;", text, flags=re.IGNORECASE)
    marks = "".join(f' {name}="{value}"' for name, value in attributes.items())
    return f"<{tag}{marks}>\n{inside}\n</{tag}>"


def shortened(text: str, budget: int, rest: str) -> str:
    """Return `text` within `budget` characters: its start, a marker, and its end.

    `rest` is the end of the marker's sentence, which says where to read the rest.
    """
    if len(text) <= budget:
        return text
    head, tail = kept_chars(budget)
    marker = omission_marker(len(text) - head - tail, rest)
    return text[:head] + marker[: budget - head - tail] + text[len(text) - tail :]


def kept_chars(budget: int) -> tuple[int, int]:
    """Return how many characters are kept of the start and of the end of a text that is longer than `budget`."""
    return budget * 7 // 10, budget * 2 // 10


def omission_marker(left_out: int, rest: str) -> str:
    """Return the marker that replaces `left_out` characters."""
    return f"\n\n[… {left_out:,} characters are left out here; {rest} …]\n\n"
