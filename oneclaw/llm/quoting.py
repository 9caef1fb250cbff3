"""Text that somebody else wrote, put into a prompt as data. Pure."""

import re


def quoted(tag: str, text: str, **attributes: str) -> str:
    """`text` between <tag> and </tag>, with nothing in it that could open or close that tag."""
    inside = re.sub(rf"<(?=\s*/?\s*{re.escape(tag)}\b)", "&lt;", text, flags=re.IGNORECASE)
    marks = "".join(f' {name}="{value}"' for name, value in attributes.items())
    return f"<{tag}{marks}>\n{inside}\n</{tag}>"


def shortened(text: str, budget: int, rest: str) -> str:
    """`text` within `budget` characters: its first 70 % of them, a marker that says where the rest is (`rest`: the
    end of a sentence), and its last 20 %."""
    if len(text) <= budget:
        return text
    head, tail = budget * 7 // 10, budget * 2 // 10
    marker = f"\n\n[… {len(text) - head - tail:,} characters are left out here; {rest} …]\n\n"
    return text[:head] + marker[: budget - head - tail] + text[len(text) - tail :]
