"""What memory keeps of a person who leaves: their private spaces go, with documents, history, index and files."""

from collections.abc import Mapping

from django.db import transaction

from chat.models import ChatSession
from chat.transfer.leaving import digest
from memory.forgetting import spaces
from memory.library import storage
from memory.models import (
    Comparison,
    DocumentJob,
    FileVersion,
    Flush,
    LibraryFile,
    MemoryDocument,
    TranscriptIndex,
)
from memory.notes.flush import cover_imported
from oneclaw.domains import Alive, PersonPart, Way
from oneclaw.models import Space, User

REFERENCES = {
    "memory.AgentSpace.owner": Way.DELETED,
    "memory.SwitchChoice.user": Way.DELETED,
    "memory.MemoryRevision.author": Way.ANONYMISED,
    "memory.Upload.owner": Way.DELETED,
    "memory.Comparison.owner": Way.DELETED,
    "memory.TranscriptIndex.owner": Way.DELETED,
    "memory.LineFeedback.user": Way.DELETED,
    "memory.Flush.owner": Way.DELETED,
    "memory.DocumentJob.owner": Way.DELETED,
    "memory.Forgetting.author": Way.ANONYMISED,
    "memory.FileVersion.owner": Way.ANONYMISED,
    "memory.MemoryRevision.approved_by": Way.ANONYMISED,
    "memory.Proposal.author": Way.ANONYMISED,
    "memory.Proposal.decided_by": Way.ANONYMISED,
    "memory.SkillApproval.user": Way.DELETED,
    "memory.DemoWalk.user": Way.DELETED,
}


def private_spaces(person: User) -> list[Space]:
    """Return the spaces that only `person` sees."""
    return list(Space.objects.filter(owner=person, kind__in=Space.PRIVATE).order_by("pk"))


def counts(person: User) -> Mapping[str, int]:
    """Return how many documents and files of libraries the private spaces of `person` have."""
    spaces = private_spaces(person)
    return {
        "documents": MemoryDocument.objects.present().filter(space__in=spaces).count(),
        "library_files": LibraryFile.objects.filter(space__in=spaces).count(),
    }


def hashes(person: User) -> Mapping[str, str]:
    """Return what identifies the documents and files that go."""
    spaces = private_spaces(person)
    documents = MemoryDocument.objects.filter(space__in=spaces).order_by("content_hash")
    versions = FileVersion.objects.filter(file__space__in=spaces).order_by("sha256")
    return {
        "documents": digest(documents.values_list("content_hash", flat=True)),
        "library_files": digest(versions.values_list("sha256", flat=True)),
    }


def hand_over(person: User, receiver: User | None) -> None:
    """Do nothing: the memory of shared spaces stays with them, and names no person when the account goes."""


def remove(person: User, alive: Alive) -> None:
    """Delete the memory of `person`, space by space, with its folder."""
    for space in private_spaces(person):
        space_id = space.pk
        with transaction.atomic():
            for model in (Comparison, Flush, DocumentJob, TranscriptIndex):
                model.objects.filter(owner=person).delete()
            spaces.remove(space)
            space.delete()
        storage.remove_folder(space_id)
        alive()


def begin_anew(session: ChatSession) -> None:
    """Let nothing of the conversation so far into the memory of its new owner.

    Must be called in the transaction that changes the owner.
    """
    for model in (Flush, DocumentJob, TranscriptIndex):
        model.objects.filter(session=session).delete()
    if session.last_seq and session.kind != ChatSession.Kind.BEAT:
        cover_imported(session, 0)


PART = PersonPart(counts, hashes, hand_over, remove)
