"""Read the files that were attached to messages: their text is searched with the conversation (memory/index/
conversations.py), and stays readable when a summary replaces the message.

The address of a file is that of its page, `/files/<id>`. Who may read the message may read its file.
"""

import datetime as dt
import re
import uuid
from dataclasses import dataclass

from chat.context.files import plain_name
from chat.models import Message, MessageFile, MessageQuerySet
from memory.access.decided import MemoryAccess
from memory.access.load import access_of
from memory.access.transcripts import readable_transcripts
from memory.index import transcripts
from memory.policy import tombstones
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


def of_messages(access: MemoryAccess, messages: MessageQuerySet) -> list[AttachedFile]:
    """Return the files of these `messages` of a conversation that have text, in order.

    What was chosen from a library is left out: it is read there, where its access is checked.
    """
    named = MessageFile.objects.filter(message__in=messages, attachment__source__isnull=True).exclude(
        attachment__text=""
    )
    known = tombstones.of_space(access.transcript_space.pk)
    found = []
    for row in named.select_related("attachment", "message").order_by("message__seq", "pk"):
        text, _ = masked(known.without_forgotten_words(row.attachment.text.strip("\n")))
        name, message = plain_name(row.attachment.name), row.message
        found.append(AttachedFile(row.attachment_id, name, text, message.seq, message.created_at))
    return found


def read(access: MemoryAccess, path: str) -> AttachedFile | None:
    """Return the file at `path` as a conversation may read it: of its own messages and of those of other
    conversations whose transcripts it reads; None for every other."""
    named = FILE_PATH.fullmatch(path)
    if named is None or not access.may_read:
        return None
    id, session = uuid.UUID(named[1]), access.session
    if found := _named(access, session.messages.shown().filter(seq__gt=access.after_seq), id):
        return found
    if not access.reads_transcripts:
        return None
    holding = Message.objects.filter(file_names__attachment=id).values("session")
    for other in readable_transcripts(access).filter(pk__in=holding).exclude(pk=session.pk):
        its = access_of(other)
        if its.keeps_transcript:
            kept = transcripts.kept_messages(its, other.last_complete_seq())
            if found := _named(its, kept, id):
                return found
    return None


def _named(access: MemoryAccess, messages: MessageQuerySet, id: uuid.UUID) -> AttachedFile | None:
    """Return the file `id` of `messages`; None when it is of none of them."""
    with_file = messages.filter(file_names__attachment=id)
    return next((file for file in of_messages(access, with_file) if file.id == id), None)


def ways_to(access: MemoryAccess, through_seq: int, tool: str) -> list[str]:
    """Return for each of the newest files of the messages of a conversation up to `through_seq` how it is read again by
    `tool`; [] where it may not read them."""
    if not access.may_read:
        return []
    replaced = access.session.messages.shown().filter(seq__gt=access.after_seq, seq__lte=through_seq)
    files = {file.id: file for file in of_messages(access, replaced)}
    newest = list(files.values())[-NAMED_MAX_COUNT:]
    return [f"[{file.name}: read it again with {tool}, path {file.path}]" for file in newest]
