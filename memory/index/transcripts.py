"""Render a conversation as a transcript: each message verbatim, under a label with its author and time.

Only the owner of a private conversation can read it; one that is shared with a space, its members. Its path is the
address of the conversation, `/c/<id>`, which no document can have.
"""

import datetime as dt
import re
import uuid
from collections.abc import Iterator
from dataclasses import dataclass

from chat.models import Message, MessageQuerySet
from memory.access.decided import MemoryAccess
from memory.access.load import access_of
from memory.access.programs import ProgramAccess
from memory.access.transcripts import conversations_for_program, readable_transcripts, said_while_on
from memory.policy import tombstones
from memory.policy.secrets import masked
from memory.policy.switches import Switch
from oneclaw.models import User

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


def transcript_messages(access: MemoryAccess, through_seq: int) -> Iterator[TranscriptMessage]:
    """Yield the messages of a conversation up to `through_seq` that were said while transcripts were on.

    Tool calls and results, forgotten lines, messages that other conversations sent, and those that a fork copied are
    left out.
    """
    words = kept_messages(access, through_seq).exclude(text="")
    known, names = tombstones.of_space(access.transcript_space.pk), names_in(access)
    line = 1
    for seq, role, at, text, author in words.order_by("seq").values_list("seq", "role", "created_at", "text", "author"):
        text, _ = masked(known.without_forgotten_words(text.strip("\n")))
        yield TranscriptMessage(seq, role, at, text, line + 1, names.get(author, "") if role == "user" else "")
        # The label before it and a blank line after it.
        line += text.count("\n") + 3


def kept_messages(access: MemoryAccess, through_seq: int) -> MessageQuerySet:
    """Return the messages of a conversation up to `through_seq` that its transcript, or its files, may be read of."""
    session = access.session
    shown = session.messages.filter(active=True, seq__gt=session.copied_seq, seq__lte=through_seq)
    shown = shown.filter(role__in=AUTHOR_NAMES).without_relayed()
    return said_while_on(access, shown, Switch.TRANSCRIPTS)


def read(access: MemoryAccess, path: str) -> str | None:
    """Return the transcript with this `path`, as a conversation may read it, or None.

    It must be of a conversation of the same owner or space, and one that is kept. Of its own transcript, a conversation
    reads the messages that a summary replaces in what its model is sent.
    """
    found, session = TRANSCRIPT_PATH.fullmatch(path), access.session
    if found is None or not access.reads_transcripts:
        return None
    meant = readable_transcripts(access).select_related("agent", "owner").filter(pk=uuid.UUID(found[1])).first()
    if meant is None or not (its := access_of(meant)).keeps_transcript:
        return None
    through = session.summarised_seq() if meant.pk == session.pk else meant.last_complete_seq()
    return _text_of(its, through, session.owner)


def read_by_program(access: ProgramAccess, path: str) -> str | None:
    """Return the transcript with this `path`, as a program may read it: of a conversation of its person, or of one that
    is shared with a space that it may read; None without one."""
    found = TRANSCRIPT_PATH.fullmatch(path)
    if found is None or not access.reads_conversations:
        return None
    meant = conversations_for_program(access).select_related("agent", "owner").filter(pk=uuid.UUID(found[1])).first()
    if meant is None or not (its := access_of(meant)).keeps_transcript:
        return None
    return _text_of(its, meant.last_complete_seq(), access.user)


def _text_of(its: MemoryAccess, through_seq: int, reader: User) -> str | None:
    parts, local = transcript_messages(its, through_seq), reader.local
    return "\n\n".join(f"{message_label(one.name or one.role, local(one.at))}\n{one.text}" for one in parts) or None


def names_in(access: MemoryAccess) -> dict[int | None, str]:
    """Return the names of the people who write in a conversation, by their ids, that of its owner by None; {} for a
    private one."""
    session = access.session
    if not access.is_of_space:
        return {}
    people = User.objects.filter(pk__in=session.messages.exclude(author=None).values("author"))
    return {None: str(session.owner), **{person.pk: str(person) for person in people}}


def message_label(role: str, at: dt.datetime) -> str:
    """Return the line above a message of this role, or of a person of this name; `at` is in the reader's time zone."""
    return f"{AUTHOR_NAMES.get(role, role)} ({at:%Y-%m-%d %H:%M}):"


def without_labels(text: str) -> str:
    """Return a passage of a transcript without the labels of its messages. Pure."""
    return LABEL_LINE.sub("", text)
