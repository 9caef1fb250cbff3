"""Say what a search may read: for a conversation by its access, for a person on pages by switches. What a
program may read is in memory/access/programs.py."""

import uuid
from dataclasses import dataclass, field, replace

from memory.access.decided import MemoryAccess, Switch
from memory.policy import switches
from oneclaw.models import User


@dataclass(frozen=True)
class Sources:
    """What a search may read: the documents of its spaces (`notes`), the recent conversations (`recent`), the
    transcripts of one person, and those that are shared with its spaces (`shared_transcripts`).

    Of the transcript of `but_session`, the conversation that asks, it reads only the messages up to
    `but_session_after`, which the model is not sent any more; and without `other_transcripts` no other transcript.
    What `asked_by` has said about lines counts in the ranking.
    """

    notes: bool = True
    recent: bool = True
    transcripts_of: User | None = None
    but_session: uuid.UUID | None = None
    but_session_after: int = 0
    other_transcripts: bool = True
    shared_transcripts: bool = False
    asked_by: User | None = field(default=None, compare=False)
    # By whose clock the times of messages are shown; None: that of `transcripts_of`.
    clock_of: User | None = field(default=None, compare=False)

    def __bool__(self) -> bool:
        return self.notes or self.recent or self.reads_transcripts

    @property
    def read_for(self) -> User | None:
        """Return by whose clock the times of messages are shown."""
        return self.clock_of or self.transcripts_of

    @property
    def reads_transcripts(self) -> bool:
        """Return whether any transcripts are read."""
        return self.transcripts_of is not None or self.shared_transcripts


def sources_of(access: MemoryAccess, summarised_seq: int | None = None) -> Sources:
    """Return what a conversation may search; nothing in one without memory.

    Of its own messages, these are the ones that a summary replaces in what the model is sent: those up to
    `summarised_seq`, if that is known.
    """
    on = access.on if access.may_read else frozenset()
    documents = Sources(Switch.SAVED in on, Switch.RECENT in on, asked_by=access.person)
    if not access.reads_transcripts:
        return documents
    session = access.session
    return replace(
        documents,
        transcripts_of=session.owner if access.reads_own_transcripts else None,
        shared_transcripts=access.reads_shared_transcripts,
        but_session=session.pk,
        but_session_after=session.summarised_seq() if summarised_seq is None else summarised_seq,
        clock_of=session.owner,
    )


def recall_sources_of(access: MemoryAccess) -> Sources:
    """Return what is recalled for a message, for which the conversation was read, by itself: documents, and its own
    messages that a summary replaces. Other transcripts are not: their notes say the same in fewer words."""
    found = sources_of(access, None if access.session.used_rounds else 0)
    if found.but_session_after:
        return replace(found, other_transcripts=False)
    return replace(found, transcripts_of=None, shared_transcripts=False, but_session=None)


def sources_of_person(user: User) -> Sources:
    """Return what `user` searches on pages: documents, and transcripts if their switch is on."""
    on = switches.on_for(user)
    return Sources(
        transcripts_of=user if Switch.TRANSCRIPTS in on else None,
        shared_transcripts=Switch.TRANSCRIPTS in on,
        asked_by=user,
    )
