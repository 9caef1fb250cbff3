"""Read the files that were attached to messages: their text is searched with the conversation (memory/index/
conversations.py), and stays readable when a summary replaces the message.

The address of a file is that of its page, `/files/<id>`. Who may read the message may read its file.
"""

import datetime as dt
import re
import uuid
from dataclasses import dataclass

from chat.context.files import plain_name
from chat.models import ChatSession, Message, MessageFile, MessageQuerySet
from memory.index import transcripts
from memory.policy import tombstones
from memory.policy.access import may_read, readable_transcripts, sources_of
from memory.policy.secrets import masked

FILE_PATH = re.compile(r"/files/([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})")
# The newest files that a summary names.
NAMED_MAX_COUNT = 20


@dataclass(frozen=True)
class AttachedFile:
    """A file of a message, with its text without secrets and forgotten lines."""

    id: uuid.UUID
    name: str
    text: str
    # The position and the time of the message.
    seq: int
    at: dt.datetime

    @property
    def path(self) -> str:
        """Return the address by which it is read."""
        return f"/files/{self.id}"


def of_messages(session: ChatSession, messages: MessageQuerySet) -> list[AttachedFile]:
    """Return the files of these `messages` of `session` that have text, in order.

    What was chosen from a library is left out: it is read there, where its access is checked.
    """
    named = MessageFile.objects.filter(message__in=messages, attachment__source__isnull=True).exclude(
        attachment__text=""
    )
    known = tombstones.of_space(transcripts.transcript_space(session).pk)
    found = []
    for row in named.select_related("attachment", "message").order_by("message__seq", "pk"):
        text, _ = masked(known.without_forgotten_words(row.attachment.text.strip("\n")))
        name, message = plain_name(row.attachment.name), row.message
        found.append(AttachedFile(row.attachment_id, name, text, message.seq, message.created_at))
    return found


def read(session: ChatSession, path: str) -> AttachedFile | None:
    """Return the file at `path` as `session` may read it: of its own messages and of those of other conversations whose
    transcripts it reads; None for every other."""
    named = FILE_PATH.fullmatch(path)
    if named is None or not may_read(session):
        return None
    id = uuid.UUID(named[1])
    own = session.messages.shown().filter(seq__gt=session.shared_seq if session.is_shared else 0)
    if found := _named(session, own, id):
        return found
    if not sources_of(session).reads_transcripts:
        return None
    holding = Message.objects.filter(file_names__attachment=id).values("session")
    for other in readable_transcripts(session).filter(pk__in=holding).exclude(pk=session.pk):
        if transcripts.is_kept(other):
            kept = transcripts.kept_messages(other, other.last_complete_seq())
            if found := _named(other, kept, id):
                return found
    return None


def _named(session: ChatSession, messages: MessageQuerySet, id: uuid.UUID) -> AttachedFile | None:
    """Return the file `id` of `messages`; None when it is of none of them."""
    with_file = messages.filter(file_names__attachment=id)
    return next((file for file in of_messages(session, with_file) if file.id == id), None)


def ways_to(session: ChatSession, through_seq: int, tool: str) -> list[str]:
    """Return for each of the newest files of the messages of `session` up to `through_seq` how it is read again by
    `tool`; [] where the session may not read them."""
    if not may_read(session):
        return []
    replaced = session.messages.shown().filter(seq__lte=through_seq)
    replaced = replaced.filter(seq__gt=session.shared_seq if session.is_shared else 0)
    files = {file.id: file for file in of_messages(session, replaced)}
    newest = list(files.values())[-NAMED_MAX_COUNT:]
    return [f"[{file.name}: read it again with {tool}, path {file.path}]" for file in newest]
