"""The only write path of memory: an operation becomes a revision and the document's new content.

    apply(space, "MEMORY.md", Append("- likes tea\\n"), Author(Source.TOOL, user))

After COMMIT the signal `document_written` brings the search index and the file up to date (memory/receivers.py).
"""

from dataclasses import dataclass
from enum import Enum
from functools import partial

from django.db import models, transaction
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from memory.documents.diff import apply_hunks, diff
from memory.documents.guard import without_forgotten
from memory.models import MemoryDocument, MemoryRevision, content_hash
from memory.policy.paths import DOCUMENT_MAX_BYTES, BadPathError, checked_path
from memory.policy.same_words import stands_in
from memory.signals import document_written
from oneclaw.models import Space, User
from oneclaw.reasons import Reason
from oneclaw.text import UNSTORABLE, BadText, Told

__all__ = [
    "Append",
    "Author",
    "BadPathError",
    "BadText",
    "Delete",
    "DocumentError",
    "DocumentTooLargeError",
    "MissingDocumentError",
    "Replace",
    "Separator",
    "StaleVersionError",
    "apply",
    "content_at",
    "history",
]

Source = MemoryRevision.Source


class DocumentError(Told):
    """An operation that did nothing."""


class StaleVersionError(DocumentError):
    """The document was changed since `base_version` was read."""

    words = _("%(path)s was changed meanwhile (you saw version %(seen)d, it has version %(version)d).")

    def __init__(self, path: str, base_version: int, version: int):
        super().__init__(path=path, seen=base_version, version=version)
        self.base_version, self.version = base_version, version


class MissingDocumentError(DocumentError):
    """There is no such document to delete."""

    words = _("There is no %(path)s.")

    def __init__(self, path: str):
        super().__init__(path=path)


class DocumentTooLargeError(DocumentError):
    """The document would have more than DOCUMENT_MAX_BYTES."""

    words = _("%(path)s would have %(size)s bytes; at most %(most)s are possible.")

    def __init__(self, path: str, size: int):
        super().__init__(path=path, size=size, most=DOCUMENT_MAX_BYTES)
        self.size = size


class Separator(Enum):
    """What separates appended text from the text before it. Each begins on a line of its own."""

    LINE = "nothing more"
    PARAGRAPH = "a blank line"
    LIST = "a blank line, unless one list item follows another"


@dataclass(frozen=True)
class Append:
    """Add `text` at the end, whatever version the document has. `opening` goes before it into an empty document. With
    `unless_there`, nothing is added when the document has those lines already, in the same words."""

    text: str
    separator: Separator = Separator.LINE
    opening: str = ""
    unless_there: str = ""


@dataclass(frozen=True)
class Replace:
    """Replace the whole content by `content`, if the document still has `base_version` (0: there is none yet)."""

    content: str
    base_version: int


@dataclass(frozen=True)
class Delete:
    """Delete the document, if it still has `base_version`. Its revisions stay, so that it can be restored."""

    base_version: int


Operation = Append | Replace | Delete


@dataclass(frozen=True)
class Author:
    """Who changes a document, how, and why. An operation with an `operation_key` happens once in a space."""

    source: MemoryRevision.Source
    user: User | None = None
    message_id: int | None = None
    reason: Reason | None = None
    operation_key: str | None = None


def apply(space: Space, path: str, operation: Operation, author: Author) -> MemoryRevision | None:
    """Change a document, in one transaction. Return the revision; None when there was nothing to change.

    An operation whose key was used already returns the revision that it made then. Raises BadPathError, BadText, or a
    DocumentError. The caller has checked that `author` may do this.

    What was forgotten is not written again (memory/documents/guard.py): LineForgottenError for a tool and a flush.
    """
    path = checked_path(path)
    if isinstance(operation, Append) and not operation.text:
        return None
    with transaction.atomic():
        document = _locked(space, path)
        if author.operation_key is not None:
            happened = MemoryRevision.objects.filter(space=space, operation_key=author.operation_key).first()
            if happened is not None:
                if document.version == 0:
                    document.delete()
                return happened
        if isinstance(operation, Append) and stands_in(operation.unless_there, document.content):
            return None
        existed = document.version > 0 and not document.is_deleted
        content = without_forgotten(document, _content_after(document, operation), author.source)
        if content == document.content and existed and not isinstance(operation, Delete):
            return None
        return _write(document, operation, content, author)


def check(path: str, content: str) -> None:
    """Raise BadText or DocumentTooLargeError when the document at `path` cannot have this content."""
    if UNSTORABLE.search(content):
        words = _("%(path)s cannot hold this text: it contains NUL or half a surrogate pair.")
        raise BadText("bad_text", words, path=path)
    size = len(content.encode())
    if size > DOCUMENT_MAX_BYTES:
        raise DocumentTooLargeError(path, size)


def history(document: MemoryDocument) -> "models.QuerySet[MemoryRevision]":
    """Return every change of the document, newest first, with its author."""
    return document.revisions.select_related("author", "message").order_by("-number")


def content_at(document: MemoryDocument, number: int) -> str:
    """Return the content after revision `number`: all changes up to it, applied in order. HunkMismatchError when they
    do not fit."""
    content = ""
    revisions = document.revisions.filter(number__lte=number).order_by("number")
    for hunks in revisions.values_list("hunks", flat=True).iterator(chunk_size=100):
        content = apply_hunks(content, hunks)
    return content


def announce(document_id: int) -> None:
    """Send `document_written` once this transaction is committed. A receiver that fails is logged: columns of the row
    say what is still to do."""
    send = partial(document_written.send, sender=MemoryDocument, document_id=document_id)
    transaction.on_commit(send, robust=True)


def _locked(space: Space, path: str) -> MemoryDocument:
    """Lock and return the document; a new one has version 0 until its first revision, in this transaction."""
    rows = MemoryDocument.objects.select_for_update().filter(space=space, path=path)
    document = rows.first()
    if document is None:
        # Of several that create it at once, the unique constraint lets one in; the others wait for it here.
        MemoryDocument.objects.bulk_create([MemoryDocument(space=space, path=path)], ignore_conflicts=True)
        document = rows.get()
    return document


def _content_after(document: MemoryDocument, operation: Operation) -> str:
    match operation:
        case Append(text, separator, opening):
            content = _appended(document.content, text, separator, opening)
        case Replace(content, base_version):
            if base_version != document.version and not (base_version == 0 and document.is_deleted):
                raise StaleVersionError(document.path, base_version, document.version)
        case Delete(base_version):
            if document.version == 0 or document.is_deleted:
                raise MissingDocumentError(document.path)
            if base_version != document.version:
                raise StaleVersionError(document.path, base_version, document.version)
            return ""
    check(document.path, content)
    return content


def _appended(before: str, text: str, separator: Separator, opening: str) -> str:
    """Return `before`, then `text`, each ending with a line end and with nothing else changed."""
    if not text.endswith("\n"):
        text += "\n"
    if not before:
        return opening + text
    if not before.endswith("\n"):
        before += "\n"
    last = before[:-1].rsplit("\n", 1)[-1]
    together = separator is Separator.LINE or not last.strip()
    if separator is Separator.LIST and last.startswith("- ") and text.startswith("- "):
        together = True
    return before + ("" if together else "\n") + text


def _write(document: MemoryDocument, operation: Operation, content: str, author: Author) -> MemoryRevision:
    now = timezone.now()
    kinds = {Append: "append", Replace: "replace", Delete: "delete"}
    hunks = diff(document.content, content)
    document.version += 1
    document.content, document.content_hash = content, content_hash(content)
    document.updated_at = now
    document.deleted_at = now if isinstance(operation, Delete) else None
    document.save(update_fields=["version", "content", "content_hash", "updated_at", "deleted_at"])
    revision = MemoryRevision.objects.create(
        space_id=document.space_id,
        document=document,
        number=document.version,
        kind=kinds[type(operation)],
        source=author.source,
        author=author.user,
        message_id=author.message_id,
        reason=author.reason,
        hunks=hunks,
        content_hash=document.content_hash,
        operation_key=author.operation_key,
        created_at=now,
    )
    announce(document.pk)
    return revision
