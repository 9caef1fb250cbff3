"""Turn a message into a search query for recall. Pure."""

import re

from memory.prompt.focus import question_in
from memory.prompt.technical import is_personal, is_technical

# The length of a query.
INTENT_MIN_CHARS, INTENT_MAX_CHARS = 10, 280
FENCED = re.compile(r"(?P<fence>```|~~~).*?(?:(?P=fence)|\Z)", re.DOTALL)


def intent_of(text: str, *, is_first: bool) -> str:
    """Return the query for the message `text`: without fenced code, in one line, the question in it, at most
    INTENT_MAX_CHARS characters.

    Return "" below INTENT_MIN_CHARS characters (half as many in Chinese, Japanese and Korean), and for a first message
    that is purely technical.
    """
    unfenced = FENCED.sub(" ", text)
    words = " ".join(unfenced.split())
    shortest = (
        INTENT_MIN_CHARS // 2 if re.search(r"[\u3040-\u30ff\u4e00-\u9fff\uac00-\ud7af]", words) else INTENT_MIN_CHARS
    )
    if len(words) < shortest:
        return ""
    has_fence = words != " ".join(text.split())
    if is_first and (has_fence or is_technical(unfenced)) and not is_personal(words):
        return ""
    return question_in(words)[:INTENT_MAX_CHARS]
