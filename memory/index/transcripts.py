"""Render a conversation as a transcript: each message verbatim, under a label with its author and time.

Only the owner of a private conversation can read it; one that is shared with a space, its members. Its path is the
address of the conversation, `/c/<id>`, which no document can have.
"""

import datetime as dt
import re
import uuid
from collections.abc import Iterator
from dataclasses import dataclass

from chat.models import ChatSession, Message, MessageQuerySet
from memory.policy import tombstones
from memory.policy.access import is_shared, own_space, persons_space, readable_transcripts, said_while_on, sources_of
from memory.policy.secrets import masked
from memory.policy.switches import Switch
from oneclaw.models import Space, User

TRANSCRIPT_PATH = re.compile(r"/c/([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})")
# The line of a label, as `message_label` writes it.
LABEL_LINE = re.compile(r"^[^\n]{1,200} \(\d{4}-\d\d-\d\d \d\d:\d\d\):\n", re.MULTILINE)
AUTHOR_NAMES = {Message.Role.USER.value: "Person", Message.Role.ASSISTANT.value: "Assistant"}


@dataclass(frozen=True)
class TranscriptMessage:
    """A message of a transcript: its text without secrets, and the line, from 1, on which the text begins."""

    seq: int
    role: str
    at: dt.datetime
    text: str
    line: int
    # Of a person in a shared conversation.
    name: str = ""


def transcript_messages(session: ChatSession, through_seq: int) -> Iterator[TranscriptMessage]:
    """Yield the messages of `session` up to `through_seq` that were said while transcripts were on.

    Tool calls and results, forgotten lines, messages that other conversations sent, and those that a fork copied are
    left out.
    """
    words = kept_messages(session, through_seq).exclude(text="")
    known, names = tombstones.of_space(transcript_space(session).pk), names_in(session)
    line = 1
    for seq, role, at, text, author in words.order_by("seq").values_list("seq", "role", "created_at", "text", "author"):
        text, _ = masked(known.without_forgotten_words(text.strip("\n")))
        yield TranscriptMessage(seq, role, at, text, line + 1, names.get(author, "") if role == "user" else "")
        # The label before it and a blank line after it.
        line += text.count("\n") + 3


def kept_messages(session: ChatSession, through_seq: int) -> MessageQuerySet:
    """Return the messages of `session` up to `through_seq` that its transcript, or its files, may be read of."""
    shown = session.messages.filter(active=True, seq__gt=session.copied_seq, seq__lte=through_seq)
    shown = shown.filter(role__in=AUTHOR_NAMES).without_relayed()
    return said_while_on(session, shown, Switch.TRANSCRIPTS)


def read(session: ChatSession, path: str) -> str | None:
    """Return the transcript with this `path`, as `session` may read it, or None.

    It must be of a conversation of the same owner, and one that is_kept. Of its own transcript, `session` reads the
    messages that a summary replaces in what its model is sent.
    """
    found, sources = TRANSCRIPT_PATH.fullmatch(path), sources_of(session)
    if found is None or not sources.reads_transcripts:
        return None
    meant = readable_transcripts(session).filter(pk=uuid.UUID(found[1])).first()
    if meant is None or not is_kept(meant):
        return None
    through = sources.but_session_after if meant.pk == session.pk else meant.last_complete_seq()
    parts = transcript_messages(meant, through)
    local = session.owner.local
    return "\n\n".join(f"{message_label(one.name or one.role, local(one.at))}\n{one.text}" for one in parts) or None


def transcript_space(session: ChatSession) -> Space:
    """Return the space whose members may search the transcript of `session`: that of a shared conversation, otherwise
    the own one of its owner."""
    return own_space(session) if is_shared(session) else persons_space(session.owner)


def names_in(session: ChatSession) -> dict[int | None, str]:
    """Return the names of the people who write in `session`, by their ids, that of its owner by None; {} for a private
    one."""
    if not is_shared(session):
        return {}
    people = User.objects.filter(pk__in=session.messages.exclude(author=None).values("author"))
    return {None: str(session.owner), **{person.pk: str(person) for person in people}}


def is_kept(session: ChatSession) -> bool:
    """Return whether the transcript of `session` may be searched, if the switch is on."""
    kept = session.mode == ChatSession.Mode.AGENT and session.deleted_at is None
    kept = kept and session.kind != ChatSession.Kind.BEAT
    # Conversations with an agent that has its own memory are not read by other agents, unless they are a space's.
    return kept and (is_shared(session) or not session.agent.own_memory)


def message_label(role: str, at: dt.datetime) -> str:
    """Return the line above a message of this role, or of a person of this name; `at` is in the reader's time zone."""
    return f"{AUTHOR_NAMES.get(role, role)} ({at:%Y-%m-%d %H:%M}):"


def without_labels(text: str) -> str:
    """Return a passage of a transcript without the labels of its messages. Pure."""
    return LABEL_LINE.sub("", text)
