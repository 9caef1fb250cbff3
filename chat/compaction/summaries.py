"""Write the summary of a part of a conversation: by the fast model, part after part, or without a model."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from django.conf import settings
from django.template.loader import get_template

from chat.context.rounds import text_of_result
from chat.context.view import ViewRow
from chat.models import Message
from oneclaw import llm
from oneclaw.llm.quoting import quoted, shortened
from oneclaw.text import replace_unstorable

# What the model reads of one message, and of one result of a tool.
MESSAGE_MAX_CHARS = 20_000
RESULT_MAX_CHARS = 300
# The part of a conversation that one request summarises.
PART_MAX_CHARS = 120_000
# An extract: the beginning of each message, and all of them.
EXTRACTED_MESSAGE_MAX_CHARS = 200
# A message in the person's place that they have not written (Message.is_by_person).
NOT_BY_PERSON = "relayed"
SPEAKERS: dict[str, str] = {
    Message.Role.USER: "Person",
    Message.Role.ASSISTANT: "Assistant",
    Message.Role.TOOL: "Tool",
    NOT_BY_PERSON: "Not the person",
}


@dataclass(frozen=True)
class SpokenMessage:
    """A message as a summariser reads it."""

    role: str
    text: str

    @property
    def is_persons(self) -> bool:
        return self.role == Message.Role.USER


def spoken(rows: Iterable[ViewRow]) -> list[SpokenMessage]:
    """Return what was said and called in `rows`, without thinking, notices, and the files themselves."""
    said = (SpokenMessage(speaker_of(row), spoken_text(row)) for row in rows if row.role in SPEAKERS)
    return [each for each in said if each.text.strip()]


def speaker_of(row: ViewRow) -> str:
    """Return whose words a message has: a role, or NOT_BY_PERSON."""
    return NOT_BY_PERSON if row.role == Message.Role.USER and "by" in row.meta else row.role


def spoken_text(row: ViewRow) -> str:
    """Return the words of one message, the names of its files, its calls, and the beginnings of their results."""
    parts = []
    for block in row.content:
        match block["type"]:
            case "text":
                parts.append(block["text"])
            case "attachment":
                parts.append(f"[file: {block['name']}]")
            case "tool_use":
                parts.append(f"[calls {block['name']}]")
            case "tool_result":
                text = text_of_result(block)
                parts.append(text if len(text) <= RESULT_MAX_CHARS else text[: RESULT_MAX_CHARS - 1] + "…")
    return "\n".join(parts)


def parts_of(said: Sequence[SpokenMessage], max_chars: int) -> list[list[SpokenMessage]]:
    """Return `said` in parts of at most `max_chars` characters; a longer message is a part of its own, shortened."""
    parts: list[list[SpokenMessage]] = []
    size = max_chars + 1
    for message in said:
        text = shortened(message.text, min(MESSAGE_MAX_CHARS, max_chars), "this message goes on")
        if size + len(text) > max_chars:
            parts.append([])
            size = 0
        parts[-1].append(SpokenMessage(message.role, text))
        size += len(text)
    return parts


def summary_request(
    part: Sequence[SpokenMessage], earlier: str, focus: str, max_tokens: int, model: str
) -> llm.Request:
    """Return the request for the summary of `part` and of the summary `earlier`."""
    messages = "\n\n".join(f"{SPEAKERS[each.role]}: {each.text}" for each in part)
    asked = [quoted("earlier_summary", earlier)] if earlier else []
    return llm.Request(
        model=model or settings.FAST_MODEL,
        system=[{"type": "text", "text": instructions(focus)}],
        messages=[{"role": "user", "content": "\n\n".join([*asked, quoted("messages", messages)])}],
        max_tokens=max_tokens,
        thinks=False,
    )


def instructions(focus: str) -> str:
    """Return the system prompt of a summariser."""
    template = get_template("summary_system.txt", using="prompts")
    return template.render({"focus": quoted("focus", focus) if focus else ""}).strip()


def summary_in(answer: str) -> str:
    """Return the summary in a model's `answer`."""
    answer = replace_unstorable(answer).strip()
    if fenced := re.fullmatch(r"```\w*\n(.*)\n```", answer, re.DOTALL):
        answer = fenced[1].strip()
    return answer


def extract(said: Sequence[SpokenMessage], earlier: str, max_chars: int) -> str:
    """Return the first words of the person's messages, the newest that fit into `max_chars`, after as much of the
    summary `earlier` as half of that holds."""
    kept = shortened(earlier, max_chars // 2, "the earlier summary goes on") if earlier else ""
    room = max_chars - len(kept)
    lines: list[str] = []
    persons = [each.text for each in said if each.is_persons]
    for text in reversed(persons):
        line = f"- {first_words(text)}"
        room -= len(line) + 1
        if room < 0:
            lines.append(f"- … and {len(persons) - len(lines)} messages before that")
            break
        lines.append(line)
    return "\n\n".join(filter(None, [kept, "\n".join(reversed(lines))]))


def first_words(text: str) -> str:
    """Return the beginning of `text` in one line."""
    words = " ".join(text.split())
    return words if len(words) <= EXTRACTED_MESSAGE_MAX_CHARS else words[: EXTRACTED_MESSAGE_MAX_CHARS - 1] + "…"
