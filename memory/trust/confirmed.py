"""Find what a person confirmed with a plain "yes": the question that the assistant asked before it. Pure."""

import re
from html import unescape

from memory.trust.rule import REMEMBERING, sentences

# A longer answer is compared by its own words alone, and of a longer question only the end was confirmed.
YES_MAX_CHARS = 60
CONFIRMED_MAX_CHARS = 600
YES = re.compile(
    r"\W*+(?:yes|yep|yeah|sure|ok|okay|right|correct|exactly|please|do (?:that|it|so)|go ahead|save (?:it|that|this)|"
    r"ja|jawohl|genau|gerne?|richtig|stimmt|mach (?:das|es)|oui|d.accord|exactement|vas-y|bien sûr|sí|si|claro|vale|"
    r"exacto|de acuerdo|hazlo|はい|うん|ええ|お願い|そう|是|是的|对|對|好|好的|可以|嗯)(?:\W|\Z)",
    re.IGNORECASE,
)
# An unsegmented answer has no end of a word after the yes.
YES_UNSEGMENTED = re.compile(r"\W*+(?:はい|ええ|お願い|そうです|是的|对|好的|可以)")
BLOCK_END = re.compile(r"</(?:p|li|h\d|tr|td|th|pre|blockquote|div)>|<br ?/?>", re.IGNORECASE)
# How what is closed begins and ends (templates/chat), and what it has then.
CLOSED = (
    ('<details class="thinking">', "</details>", ""),
    ("<tool-card ", "</tool-card>", ""),
    ('<div class="code-box">', "</div>", "<details>"),
)
TAG = re.compile(r"<[^<>]{0,4000}>")


def text_shown(html: str) -> str:
    """Return the words of a rendered message: what the page shows of it, and nothing that its Markdown hides, nor what
    is closed until the person opens it: what the model thought, the cards of its tools, and code with many lines."""
    for start, end, sign in CLOSED:
        first, *others = html.split(start)
        parts = (part.partition(end) for part in others)
        html = first + "\n".join(["", *(rest if sign in part else part + rest for part, _end, rest in parts)])
    return unescape(TAG.sub("", BLOCK_END.sub("\n", html)))


def is_yes(answer: str) -> bool:
    """Return whether `answer` is a plain yes."""
    answer = answer.strip()
    return len(answer) <= YES_MAX_CHARS and bool(YES.match(answer) or YES_UNSEGMENTED.match(answer))


def confirmed_text(shown: str) -> str:
    """Return what a yes confirms of the words that the page showed before it; "" when they do not end with a question.

    A question about remembering confirms the words before it, up to CONFIRMED_MAX_CHARS; another one only itself.
    """
    *before, last = [part.strip() for part in sentences(shown)] or [""]
    if not last.rstrip('*_ )"”').endswith(("?", "？")):
        return ""
    return "\n".join([*before, last])[-CONFIRMED_MAX_CHARS:] if REMEMBERING.search(last.lower()) else last
