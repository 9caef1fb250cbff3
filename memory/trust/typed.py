"""Tell what a person typed in a message from what they pasted into it. Pure."""

import re
from dataclasses import dataclass

# A message with more text than this was not typed, except its first line when that asks something of the rest.
TYPED_MAX_CHARS = 600
# A quotation of more than this is of another person, and so is a text of more than this after an introduction.
QUOTED_MIN_CHARS = 80
FOLLOWING_MIN_CHARS = 100

FENCED = re.compile(r"^ {0,3}(`{3,}|~{3,}).*?(?:^ {0,3}\1[`~]*[ \t]*$|\Z)", re.MULTILINE | re.DOTALL)
QUOTED_LINES = re.compile(r"(?:^[ \t]*>.*(?:\n|\Z))+", re.MULTILINE)
MARKUP = re.compile(r"<(\w+)[^>]*>.*?</\1>", re.DOTALL)
IN_QUOTES = re.compile(
    "|".join(
        rf"{begin}[^{end}]{{{QUOTED_MIN_CHARS},}}(?:{end}|\Z)"
        for begin, end in (('"', '"'), ("“", "”"), ("„", "“”"), ("«", "»"), ("»", "«"), ("「", "」"), ("『", "』"))
    ).replace("(?:“”|", "(?:[“”]|"),
    re.DOTALL,
)
# The header of a mail, or a line of a chat: what follows is of others.
HEADER = re.compile(
    r"^[ \t]*(?:(?:From|To|Subject|Sent|Date|Von|An|Betreff|Gesendet|De|À|Objet|Para|Asunto|Enviado|差出人|件名"
    r"|发件人|主题)[ \t]*[:：].*|-{3,}.*|\[?\d{1,2}:\d{2}\]?[ \t]+[^\n:]{1,40}:.*)$",
    re.MULTILINE,
)
INTRODUCTION = re.compile(r"\A[^\n]{1,300}[:：?？](?=[ \t]*\n)")
REMEMBERING = re.compile(
    r"\b(?:remember|memori[sz]e|note|save|merk\w*|notier\w*|speicher\w*|vergiss|retiens|rappelle\w*|souviens|note[rz]?|"
    r"enregistre\w*|recuerd\w*|guarda\w*|anota\w*|memoriza)\b|覚え|記憶|メモ|记住|記住|记下|保存",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class MessageParts:
    """The words that a person typed, and the blocks that they pasted."""

    typed: str
    pasted: tuple[str, ...]


def parts_of(text: str) -> MessageParts:
    """Return the parts of a person's message. The argument of a command, such as /remember, counts as typed."""
    if text.lstrip().startswith("/"):
        return MessageParts(text, ())
    pasted: list[str] = []

    def cut(found: re.Match[str]) -> str:
        pasted.append(found[0])
        return "\n"

    rest = text
    for pattern in (FENCED, QUOTED_LINES, MARKUP, IN_QUOTES):
        rest = pattern.sub(cut, rest)
    if header := HEADER.search(rest):
        pasted.append(rest[header.start() :])
        rest = rest[: header.start()]
    introduction = INTRODUCTION.match(rest.strip())
    following = rest.strip()[introduction.end() :] if introduction else ""
    is_long = len(rest.strip()) > TYPED_MAX_CHARS
    if introduction and (
        is_long or (len(following.strip()) > FOLLOWING_MIN_CHARS and not REMEMBERING.search(introduction[0]))
    ):
        pasted.append(following)
        rest = introduction[0]
    elif is_long:
        pasted.append(rest)
        rest = ""
    return MessageParts(rest.strip(), tuple(block.strip() for block in pasted if block.strip()))
