"""Taking back: one change, also after others; or everything since a revision."""

from django.db import transaction
from django.utils.translation import gettext_lazy as _

from memory import documents, forgotten
from memory.documents import Author, Delete, DocumentError, Replace
from memory.hunks import Hunk, apply_hunks, reverse
from memory.models import MemoryDocument, MemoryRevision
from memory.rebasing import Overlap, carried


class CannotUndo(DocumentError):
    """Somebody has changed the same lines since."""

    words = _(
        "This change of %(path)s cannot be undone, because its lines were changed again later. "
        "You can edit the document, or restore an earlier version."
    )

    def __init__(self, revision: MemoryRevision):
        super().__init__(path=revision.document.path)


class IsForgetting(DocumentError):
    """What was forgotten is nowhere any more."""

    words = _("Forgotten lines cannot be restored, because they are no longer stored.")


@transaction.atomic
def undo(revision: MemoryRevision, author: Author) -> MemoryRevision | None:
    """Take this one change back and keep every later one. CannotUndo when a later one touches the same lines,
    IsForgetting when it is none that can be taken back.

    Returns the revision that took it back; None when nothing had to change.
    """
    if revision.source == MemoryRevision.Source.FORGET:
        raise IsForgetting
    document = MemoryDocument.objects.select_for_update().select_related("space").get(pk=revision.document_id)
    # Read under the lock: something of it may have been forgotten meanwhile.
    revision.refresh_from_db(fields=["hunks"])
    try:
        hunks = since(document, revision.number, reverse(revision.hunks))
    except Overlap as overlap:
        raise CannotUndo(revision) from overlap
    content = apply_hunks(document.content, hunks)
    if content or revision.kind == MemoryRevision.Kind.DELETE or _stood_before(revision):
        return documents.apply(document.space, document.path, Replace(content, document.version), author)
    return documents.apply(document.space, document.path, Delete(document.version), author)


@transaction.atomic
def restore(document: MemoryDocument, number: int, base_version: int, author: Author) -> MemoryRevision | None:
    """The document becomes what it was after revision `number`. StaleVersion unless it still has `base_version`."""
    content = documents.content_at(document, number)
    return documents.apply(document.space, document.path, Replace(content, base_version), author)


@transaction.atomic
def delete_line(document: MemoryDocument, line: int, base_version: int, author: Author) -> MemoryRevision | None:
    """Take away one line, counted from 0, of the content that had `base_version`; later changes of other lines stay.

    Overlap when it was changed meanwhile, IndexError when there was no such line.
    """
    locked = MemoryDocument.objects.select_for_update().select_related("space").get(pk=document.pk)
    if forgotten.since(locked, base_version):
        raise Overlap("Lines were forgotten meanwhile, so that others stand in their places.")
    seen = documents.content_at(locked, base_version).split("\n")
    hunks = since(locked, base_version, [Hunk(at=line, removed=[seen[line]], added=[])])
    content = apply_hunks(locked.content, hunks)
    return documents.apply(locked.space, locked.path, Replace(content, locked.version), author)


def since(document: MemoryDocument, number: int, hunks: list[Hunk]) -> list[Hunk]:
    """Hunks over the content after revision `number`, as hunks over the content of now. Overlap when they touch a later
    change."""
    later = document.revisions.filter(number__gt=number).order_by("number").values_list("hunks", flat=True)
    return carried(hunks, later)


def _stood_before(revision: MemoryRevision) -> bool:
    """Whether there was a document before this change."""
    before = MemoryRevision.objects.filter(document_id=revision.document_id, number=revision.number - 1).first()
    return before is not None and before.kind != MemoryRevision.Kind.DELETE
