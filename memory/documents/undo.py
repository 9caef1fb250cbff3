"""Undo one change while later ones are kept, restore an earlier version, and find and change lines of one."""

from django.db import transaction
from django.utils.translation import gettext_lazy as _

from memory.documents import write
from memory.documents.diff import Hunk, apply_hunks, reverse
from memory.documents.merge import OverlapError, rebase
from memory.documents.write import Author, Delete, DocumentError, Replace
from memory.models import MemoryDocument, MemoryRevision
from memory.policy import tombstones


class CannotUndoError(DocumentError):
    """A later change touches the same lines."""

    wording = _(
        "This change of %(path)s cannot be undone, because its lines were changed again later. "
        "You can edit the document, or restore an earlier version."
    )


class CannotUndoForgettingError(DocumentError):
    """The change is a forgetting, whose lines are no longer stored."""

    wording = _("Forgotten lines cannot be restored, because they are no longer stored.")


@transaction.atomic
def undo(revision: MemoryRevision, author: Author) -> MemoryRevision | None:
    """Undo the change `revision`, keep every later one, and return the new revision; None when nothing had to change.

    Raise CannotUndoError when a later change touches the same lines, and CannotUndoForgettingError for a forgetting.
    """
    if revision.source == MemoryRevision.Source.FORGET:
        raise CannotUndoForgettingError
    document = MemoryDocument.objects.select_for_update().select_related("space").get(pk=revision.document_id)
    # Read under the lock: lines of it may have been forgotten in the meantime.
    revision.refresh_from_db(fields=["hunks"])
    try:
        hunks = rebased(document, revision.number, reverse(revision.hunks))
    except OverlapError as overlap:
        raise CannotUndoError(path=document.path) from overlap
    content = apply_hunks(document.content, hunks)
    if content or revision.kind == MemoryRevision.Kind.DELETE or _existed_before(revision):
        return write.apply(document.space, document.path, Replace(content, document.version), author)
    return write.apply(document.space, document.path, Delete(document.version), author)


@transaction.atomic
def restore(document: MemoryDocument, number: int, base_version: int, author: Author) -> MemoryRevision | None:
    """Restore the content after revision `number`, and return the new revision; None when nothing had to change.

    Raise StaleVersionError unless the document still has `base_version`.
    """
    content = write.content_at(document, number)
    return write.apply(document.space, document.path, Replace(content, base_version), author)


@transaction.atomic
def change_lines(
    document: MemoryDocument, line: int, count: int, added: list[str], base_version: int, author: Author
) -> MemoryRevision | None:
    """Replace `count` lines from the index `line`, from 0, of the content at `base_version`; keep later changes.

    Raise OverlapError when the lines were changed since, and IndexError when there were no such lines.
    """
    locked = MemoryDocument.objects.select_for_update().select_related("space").get(pk=document.pk)
    if tombstones.forgotten_since(locked, base_version):
        raise OverlapError("Lines were forgotten meanwhile, so that others stand in their places.")
    seen = write.content_at(locked, base_version).split("\n")
    removed = seen[line : line + count]
    if len(removed) < count:
        raise IndexError(line + count)
    hunks = rebased(locked, base_version, [Hunk(at=line, removed=removed, added=added)])
    content = apply_hunks(locked.content, hunks)
    return write.apply(locked.space, locked.path, Replace(content, locked.version), author)


def line_now(document: MemoryDocument, line: int, version: int) -> int:
    """Return the number, from 1, of what was `line` of the content at `version`.

    Raise OverlapError when that line was changed since, or lines of the document were forgotten.
    """
    if version >= document.version:
        return line
    if tombstones.forgotten_since(document, version):
        raise OverlapError("Lines were forgotten meanwhile, so that others stand in their places.")
    return rebased(document, version, [Hunk(at=line - 1, removed=[""], added=[])])[0]["at"] + 1


def rebased(document: MemoryDocument, number: int, hunks: list[Hunk]) -> list[Hunk]:
    """Return `hunks`, made for the content after revision `number`, rebased onto the content that `document` has.

    Raise OverlapError when they touch a later change. Changes since `document` was read do not count.
    """
    later = document.revisions.filter(number__gt=number, number__lte=document.version).order_by("number")
    return rebase(hunks, later.values_list("hunks", flat=True))


def _existed_before(revision: MemoryRevision) -> bool:
    """Return whether there was a document before this change."""
    before = MemoryRevision.objects.filter(document_id=revision.document_id, number=revision.number - 1).first()
    return before is not None and before.kind != MemoryRevision.Kind.DELETE
