"""Summarise a part of a conversation as notes: with the fast model, or as an extract when the model fails."""

import datetime as dt
import re
from collections.abc import Sequence
from dataclasses import dataclass

from django.conf import settings
from django.template.loader import get_template

from chat.models import Message
from memory.index.transcripts import AUTHOR_NAMES
from memory.policy.secrets import masked
from oneclaw import llm
from oneclaw.llm.quoting import quoted, shortened
from oneclaw.spend.calls import Payer
from oneclaw.text import replace_unstorable

# The answer of the model, in any case, when nothing is worth keeping.
NOTHING_TO_NOTE = "NO_REPLY"
# The notes, and the part of one message that the model reads.
NOTES_MAX_TOKENS = 4096
MESSAGE_MAX_CHARS = 20_000
# An extract: its messages, and the text of each.
EXTRACT_MAX_MESSAGES = 12
EXTRACTED_MESSAGE_MAX_CHARS = 300
EXTRACT_NOTICE = "*Not summarised: the model could not be reached. The first words of what was said:*"


@dataclass(frozen=True)
class TranscriptEntry:
    """One message of a transcript, with the local time of its owner and, in a shared conversation, its author's name.

    Tool calls and results are left out, so that text from memory is not noted again.
    """

    role: str
    at: dt.datetime
    text: str
    name: str = ""
    # What of it its person typed; None: all of it.
    typed: str | None = None

    @property
    def own_words(self) -> str:
        """Return the text without what was pasted into it."""
        return self.text if self.typed is None else self.typed

    @property
    def speaker(self) -> str:
        """Return who said it."""
        return self.name or AUTHOR_NAMES[self.role]


def summarise(said: Sequence[TranscriptEntry], day: dt.date, payer: Payer, *, of_team: bool = False) -> str:
    """Return the notes of the fast model about `said`, a conversation of one person or `of_team`; "" when nothing is
    worth keeping. Raise ModelRequestError."""
    if not any(line.role == Message.Role.USER for line in said):
        return ""
    request = llm.Request(
        model=settings.FAST_MODEL,
        system=[{"type": "text", "text": _prompt("flush_system.txt", day=day, of_team=of_team)}],
        messages=[{"role": "user", "content": _prompt("flush_request.txt", transcript=transcript(said))}],
        max_tokens=NOTES_MAX_TOKENS,
        thinks=False,
    )
    return notes_of(llm.complete_sync(request, payer))


def transcript(said: Sequence[TranscriptEntry]) -> str:
    """Return the messages as quoted data in <transcript> tags, each with its time and speaker."""
    rest = "this message goes on"
    shown = ((line, shortened(line.text, MESSAGE_MAX_CHARS, rest)) for line in said)
    lines = (f"[{line.at:%H:%M}] {line.speaker}: {text}" for line, text in shown)
    return quoted("transcript", "\n\n".join(lines))


def notes_of(answer: str) -> str:
    """Return the part of the model's `answer` that goes into the log; "" when nothing is worth keeping."""
    answer = replace_unstorable(answer).strip()
    if fenced := re.fullmatch(r"```\w*\n(.*)\n```", answer, re.DOTALL):
        answer = fenced[1]
    if re.match(rf"\W*{NOTHING_TO_NOTE}\b", answer, re.IGNORECASE):
        return ""
    lines = [line for line in answer.splitlines() if line.strip(" `*_.\"'“”").upper() != NOTHING_TO_NOTE]
    # Headings of levels 1 and 2 are those of the log itself.
    return re.sub(r"^#{1,2}(?=\s)", "###", "\n".join(lines).strip(), flags=re.MULTILINE)


def extract(said: Sequence[TranscriptEntry]) -> str:
    """Return the fallback for the notes: the first words of the person's messages, marked as not summarised.

    Secrets are masked before a message is cut, because half of a number is not recognised.
    """
    messages = [line for line in said if line.role == Message.Role.USER and line.own_words.strip()]
    if not messages:
        return ""
    said_by = (f"{line.name}: " if line.name else "" for line in messages)
    items = [
        f"- {line.at:%H:%M} {name}{_first_words(masked(line.own_words)[0])}"
        for line, name in zip(messages[:EXTRACT_MAX_MESSAGES], said_by, strict=False)
    ]
    if len(messages) > EXTRACT_MAX_MESSAGES:
        items.append(f"- … and {len(messages) - EXTRACT_MAX_MESSAGES} more messages")
    return f"{EXTRACT_NOTICE}\n\n" + "\n".join(items)


def _first_words(text: str) -> str:
    words = " ".join(text.split())
    if len(words) <= EXTRACTED_MESSAGE_MAX_CHARS:
        return words
    return words[: EXTRACTED_MESSAGE_MAX_CHARS - 1].rsplit(" ", 1)[0] + "…"


def _prompt(name: str, **context: object) -> str:
    return get_template(name, using="prompts").render(context).strip()
