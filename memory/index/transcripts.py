"""Render a conversation as a transcript: each message verbatim, under a label with its author and time.

Only the owner of the conversation can read it. Its path is the address of the conversation, `/c/<id>`, which no
document can have.
"""

import datetime as dt
import re
import uuid
from collections.abc import Iterator
from dataclasses import dataclass

from chat.models import ChatSession, Message
from memory.policy import switches, tombstones
from memory.policy.access import sources_of
from memory.policy.secrets import masked
from memory.policy.switches import Switch
from oneclaw.models import Space

TRANSCRIPT_PATH = re.compile(r"/c/([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})")
AUTHOR_NAMES = {Message.Role.USER.value: "Person", Message.Role.ASSISTANT.value: "Assistant"}


@dataclass(frozen=True)
class TranscriptMessage:
    """A message of a transcript: its text without secrets, and the line, from 1, on which the text begins."""

    seq: int
    role: str
    at: dt.datetime
    text: str
    line: int


def transcript_messages(session: ChatSession, through_seq: int) -> Iterator[TranscriptMessage]:
    """Yield the messages of `session` up to `through_seq` that were said while transcripts were on.

    Tool calls and results, forgotten lines, messages that other conversations sent, and those that a fork copied are
    left out.
    """
    shown = session.messages.filter(active=True, seq__gt=session.copied_seq, seq__lte=through_seq)
    words = shown.filter(role__in=AUTHOR_NAMES).without_relayed().exclude(text="")
    words = switches.said_while_on(words, session.owner, Switch.TRANSCRIPTS)
    known = tombstones.of_space(Space.objects.own_of(session.owner).pk)
    line = 1
    for seq, role, at, text in words.order_by("seq").values_list("seq", "role", "created_at", "text"):
        text, _ = masked(known.without_forgotten_words(text.strip("\n")))
        yield TranscriptMessage(seq, role, at, text, line + 1)
        # The label before it and a blank line after it.
        line += text.count("\n") + 3


def read(session: ChatSession, path: str) -> str | None:
    """Return the transcript with this `path`, as `session` may read it, or None.

    It must be of a conversation of the same owner, and one that is_kept. Of its own transcript, `session` reads the
    messages that a summary replaces in what its model is sent.
    """
    found, sources = TRANSCRIPT_PATH.fullmatch(path), sources_of(session)
    if found is None or sources.transcripts_of is None:
        return None
    meant = ChatSession.objects.private_to(session.owner).filter(pk=uuid.UUID(found[1])).first()
    if meant is None or not is_kept(meant):
        return None
    through = sources.but_session_after if meant.pk == session.pk else meant.last_complete_seq()
    parts = transcript_messages(meant, through)
    return "\n\n".join(f"{message_label(one.role, session.owner.local(one.at))}\n{one.text}" for one in parts) or None


def is_kept(session: ChatSession) -> bool:
    """Return whether the transcript of `session` may be searched, if the switch is on."""
    kept = session.mode == ChatSession.Mode.AGENT and session.deleted_at is None and not session.is_shared
    kept = kept and session.kind != ChatSession.Kind.BEAT
    # Conversations with an agent that has its own memory are not read by other agents.
    return kept and not session.agent.own_memory


def message_label(role: str, at: dt.datetime) -> str:
    """Return the line above a message; `at` is in the time zone of the person."""
    return f"{AUTHOR_NAMES[role]} ({at:%Y-%m-%d %H:%M}):"
