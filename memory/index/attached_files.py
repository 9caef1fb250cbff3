"""Read the files that were attached to messages: their text is searched with the conversation (memory/index/
conversations.py), and stays readable when a summary replaces the message.

The address of a file is that of its page, `/files/<id>`. Who may read the message may read its file.
"""

import re
import uuid
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from chat.context.files import plain_name
from chat.models import ChatSession, MessageFile, MessageQuerySet
from memory.index import transcripts
from memory.policy import tombstones
from memory.policy.access import may_read, readable_transcripts, said_while_on, sources_of
from memory.policy.secrets import masked
from memory.policy.switches import Switch

FILE_PATH = re.compile(r"/files/([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})")
# The newest files that a summary names.
NAMED_MAX_COUNT = 20


@dataclass(frozen=True)
class AttachedFile:
    """A file of a message, with its text without secrets and forgotten lines."""

    id: uuid.UUID
    name: str
    text: str

    @property
    def path(self) -> str:
        """Return the address by which it is read."""
        return f"/files/{self.id}"


def of_messages(session: ChatSession, messages: MessageQuerySet) -> Mapping[int, Sequence[AttachedFile]]:
    """Return the files of these `messages` of `session` that have text, by the ids of the messages.

    What was chosen from a library is left out: it is read there, where its access is checked.
    """
    named = MessageFile.objects.filter(message__in=messages, attachment__source=None).exclude(attachment__text="")
    known = tombstones.of_space(transcripts.transcript_space(session).pk)
    found: dict[int, list[AttachedFile]] = defaultdict(list)
    for row in named.select_related("attachment").order_by("message__seq", "pk"):
        text, _ = masked(known.without_forgotten_words(row.attachment.text.strip("\n")))
        file = AttachedFile(row.attachment_id, plain_name(row.attachment.name), text)
        found[row.message_id].append(file)
    return found


def read(session: ChatSession, path: str) -> AttachedFile | None:
    """Return the file at `path` as `session` may read it: of its own messages and of those of other conversations whose
    transcripts it reads; None for every other."""
    named = FILE_PATH.fullmatch(path)
    if named is None or not may_read(session):
        return None
    id = uuid.UUID(named[1])
    sessions = ChatSession.objects.filter(messages__file_names__attachment=id).distinct()
    own = session.messages.shown().filter(seq__gt=session.shared_seq if session.is_shared else 0)
    if found := _named(session, own, {id}):
        return found
    if not sources_of(session).reads_transcripts:
        return None
    for other in readable_transcripts(session).filter(pk__in=sessions).exclude(pk=session.pk):
        if not transcripts.is_kept(other):
            continue
        said = other.messages.filter(active=True, seq__gt=other.copied_seq)
        if found := _named(other, said_while_on(other, said, Switch.TRANSCRIPTS), {id}):
            return found
    return None


def _named(session: ChatSession, messages: MessageQuerySet, ids: Collection[uuid.UUID]) -> AttachedFile | None:
    """Return the file of `messages` with one of these `ids`."""
    with_file = messages.filter(file_names__attachment__in=ids)
    return next((file for files in of_messages(session, with_file).values() for file in files if file.id in ids), None)


def ways_to(session: ChatSession, through_seq: int, tool: str) -> list[str]:
    """Return for each of the newest files of the messages of `session` up to `through_seq` how it is read again by
    `tool`; [] where the session may not read them."""
    if not may_read(session):
        return []
    replaced = session.messages.shown().filter(seq__lte=through_seq)
    replaced = replaced.filter(seq__gt=session.shared_seq if session.is_shared else 0)
    files = {file.id: file for each in of_messages(session, replaced).values() for file in each}
    newest = list(files.values())[-NAMED_MAX_COUNT:]
    return [f"[{file.name}: read it again with {tool}, path {file.path}]" for file in newest]
