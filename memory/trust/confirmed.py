"""Find what a person confirmed with a plain "yes": the question that the assistant asked before it. Pure."""

import re

from memory.trust.matching import sentences
from memory.trust.typed import REMEMBERING

# A longer answer is compared by its own words alone, and of a longer question only the end was confirmed.
YES_MAX_CHARS = 60
CONFIRMED_MAX_CHARS = 600
YES = re.compile(
    r"\W*(?:yes|yep|yeah|sure|ok|okay|right|correct|exactly|please|do (?:that|it|so)|go ahead|save (?:it|that|this)|"
    r"ja|jawohl|genau|gerne?|richtig|stimmt|mach (?:das|es)|oui|d.accord|exactement|vas-y|bien sûr|sí|si|claro|vale|"
    r"exacto|de acuerdo|hazlo|はい|うん|ええ|お願い|そう|是|是的|对|對|好|好的|可以|嗯)(?:\W|\Z)",
    re.IGNORECASE,
)
# An unsegmented answer has no end of a word after the yes.
YES_UNSEGMENTED = re.compile(r"\W*(?:はい|ええ|お願い|そうです|是的|对|好的|可以)")


def confirmed_text(asked: str, answer: str) -> str:
    """Return what the person has confirmed of the assistant's words `asked` with `answer`; "" when it is no yes.

    A question about remembering confirms the words before it, up to CONFIRMED_MAX_CHARS; another one only itself.
    """
    answer = answer.strip()
    if len(answer) > YES_MAX_CHARS or not (YES.match(answer) or YES_UNSEGMENTED.match(answer)):
        return ""
    *before, last = [*sentences(asked)] or [""]
    if not last.rstrip('*_ )"”').endswith(("?", "？")):
        return ""
    return "\n".join([*before, last])[-CONFIRMED_MAX_CHARS:] if REMEMBERING.search(last) else last
