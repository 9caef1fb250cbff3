"""Turn a message into a search query for recall. Pure."""

import re

# The length of a query.
INTENT_MIN_CHARS, INTENT_MAX_CHARS = 10, 280
CODE = re.compile(r"(?P<fence>```|~~~).*?(?:(?P=fence)|\Z)", re.DOTALL)
# A first message with technical and without personal words is not searched for.
TECHNICAL = re.compile(
    r"\b(api|array|async|bash|bug|class|code|compile[rs]?|css|debug|docker|error|exception|function|git|html|http|java"
    r"|javascript|json|kubernetes|linux|method|null|pip|python|query|regex|rust|script|sql|stack ?trace|string|syntax"
    r"|terminal|traceback|typescript|variable|xml|yaml)\b",
    re.IGNORECASE,
)
PERSONAL = re.compile(
    r"\b(i|i'm|i've|i'd|me|my|mine|myself|we|we're|we've|us|our|ours|you said|remember(?:ed)?|remind|recall|forgot"
    r"|again|before|earlier|last (?:time|week|month|year|night)|yesterday|ago|project|team|client|customer|decided"
    r"|agreed|promised|ich|mein\w*|wir|uns\w*|mir|mich|je|moi|mon|ma|mes|nous|notre|nos|yo|mi|mis|nosotros|nuestr\w*"
    r"|projekt\w*|projet\w*|proyecto\w*)\b|[私僕俺我咱]|プロジェクト|项目",
    re.IGNORECASE,
)


def intent_of(text: str, *, is_first: bool) -> str:
    """Return the query for the message `text`: without fenced code, in one line, at most INTENT_MAX_CHARS characters.

    Return "" below INTENT_MIN_CHARS characters (half as many in Chinese, Japanese and Korean), and for a first message
    that is purely technical.
    """
    words = " ".join(CODE.sub(" ", text).split())
    shortest = (
        INTENT_MIN_CHARS // 2 if re.search(r"[\u3040-\u30ff\u4e00-\u9fff\uac00-\ud7af]", words) else INTENT_MIN_CHARS
    )
    if len(words) < shortest:
        return ""
    if is_first and (TECHNICAL.search(words) or words != " ".join(text.split())) and not PERSONAL.search(words):
        return ""
    return words[:INTENT_MAX_CHARS]
