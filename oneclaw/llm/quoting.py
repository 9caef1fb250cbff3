"""Quote text that somebody else wrote in a prompt, as data and within a budget. Pure."""

import re


def quoted(tag: str, text: str, **attributes: str) -> str:
    """Return `text` between <tag> and </tag>, with nothing in it that could open or close that tag."""
    inside = re.sub(rf"<(?=\s*/?\s*{re.escape(tag)}\b)", "&lt;", text, flags=re.IGNORECASE)
    marks = "".join(f' {name}="{value}"' for name, value in attributes.items())
    return f"<{tag}{marks}>\n{inside}\n</{tag}>"


def shortened(text: str, budget: int, rest: str) -> str:
    """Return `text` within `budget` characters: its beginning, a marker that says where the rest is (`rest`: the end of
    a sentence), and its end."""
    if len(text) <= budget:
        return text
    head, tail = kept(budget)
    marker = gap(len(text) - head - tail, rest)
    return text[:head] + marker[: budget - head - tail] + text[len(text) - tail :]


def kept(budget: int) -> tuple[int, int]:
    """Return how many characters of a text that is too long are kept of its beginning and of its end."""
    return budget * 7 // 10, budget * 2 // 10


def gap(left_out: int, rest: str) -> str:
    """Return the marker in place of so many characters that are left out."""
    return f"\n\n[… {left_out:,} characters are left out here; {rest} …]\n\n"
