"""Write documents: the only write path of memory, where an operation becomes a revision and new content.

    apply(space, "MEMORY.md", Append("- likes tea\\n"), Author(Source.TOOL, user))

After COMMIT the signal `documents_written` brings the search index and the file up to date (memory/receivers.py).
"""

from dataclasses import dataclass
from enum import Enum

from django.db import models, transaction
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from memory.documents.diff import apply_hunks, diff
from memory.documents.guard import without_forgotten
from memory.models import MemoryDocument, MemoryRevision, content_hash
from memory.policy.paths import DOCUMENT_MAX_BYTES, checked_path
from memory.policy.same_words import occurs_in
from memory.signals import send_written
from oneclaw.models import Space, User
from oneclaw.reasons import Reason
from oneclaw.text import UNSTORABLE, InvalidTextError, UserFacingError

Source = MemoryRevision.Source


class DocumentError(UserFacingError):
    """An operation was refused and changed nothing."""


class StaleVersionError(DocumentError):
    """The document was changed since `base_version` was read."""

    wording = _("%(path)s was changed meanwhile (you saw version %(seen)d, it has version %(version)d).")


class MissingDocumentError(DocumentError):
    """There is no such document to delete."""

    wording = _("There is no %(path)s.")


class DocumentTooLargeError(DocumentError):
    """The document would be larger than DOCUMENT_MAX_BYTES."""

    wording = _("%(path)s would have %(size)s bytes; at most %(most)s are possible.")


class Separator(Enum):
    """What separates appended text, which begins on a new line, from the text before it."""

    LINE = "nothing more"
    PARAGRAPH = "a blank line"
    LIST = "a blank line, unless one list item follows another"


@dataclass(frozen=True)
class Append:
    """An operation that adds `text` at the end, whatever version the document has.

    `heading` goes before it in an empty document. Nothing is added when the document already has the lines of
    `unless_there`.
    """

    text: str
    separator: Separator = Separator.LINE
    heading: str = ""
    unless_there: str = ""


@dataclass(frozen=True)
class Replace:
    """An operation that replaces the content, if the document still has `base_version` (0: there is no document)."""

    content: str
    base_version: int


@dataclass(frozen=True)
class Delete:
    """An operation that deletes the document, if it still has `base_version`. Its revisions are kept for a restore."""

    base_version: int


Operation = Append | Replace | Delete


@dataclass(frozen=True)
class Author:
    """The person, source and reason of a change. `operation_key` is an idempotency key within a space; `approved_by`
    is the second person who approved it; `is_foreign`: the lines were made from foreign text."""

    source: MemoryRevision.Source
    user: User | None = None
    message_id: int | None = None
    reason: Reason | None = None
    operation_key: str | None = None
    approved_by: User | None = None
    is_foreign: bool = False


def apply(space: Space, path: str, operation: Operation, author: Author) -> MemoryRevision | None:
    """Change the document at `path` in one transaction, and return the revision; None when nothing had to change.

    An operation whose key was used before returns the revision that it made then. The caller has checked that `author`
    may do this. Raise BadPathError, InvalidTextError or a DocumentError when the operation is refused, and
    LineForgottenError when a tool or a flush adds a forgotten line (memory/documents/guard.py).
    """
    path = checked_path(path)
    if isinstance(operation, Append) and not operation.text:
        return None
    with transaction.atomic():
        document = _locked(space, path)
        if author.operation_key is not None:
            earlier = MemoryRevision.objects.filter(space=space, operation_key=author.operation_key).first()
            if earlier is not None:
                if document.version == 0:
                    document.delete()
                return earlier
        if isinstance(operation, Append) and occurs_in(operation.unless_there, document.content):
            return None
        existed = document.version > 0 and not document.is_deleted
        content = without_forgotten(document, _content_after(document, operation), author.source)
        if content == document.content and existed and not isinstance(operation, Delete):
            return None
        return _write(document, operation, content, author)


def check(path: str, content: str) -> None:
    """Raise InvalidTextError or DocumentTooLargeError when the document at `path` cannot have this content."""
    if UNSTORABLE.search(content):
        words = _("%(path)s cannot hold this text: it contains NUL or half a surrogate pair.")
        raise InvalidTextError("bad_text", words, path=path)
    size = len(content.encode())
    if size > DOCUMENT_MAX_BYTES:
        raise DocumentTooLargeError(path=path, size=size, most=DOCUMENT_MAX_BYTES)


def history(document: MemoryDocument) -> "models.QuerySet[MemoryRevision]":
    """Return every revision of `document` with its author, newest first."""
    return document.revisions.select_related("author", "approved_by", "message").order_by("-number")


def content_at(document: MemoryDocument, number: int) -> str:
    """Return the content of `document` after revision `number`, by applying all changes up to it in order.

    Raise HunkMismatchError when the stored history is damaged.
    """
    content = ""
    revisions = document.revisions.filter(number__lte=number).order_by("number")
    for hunks in revisions.values_list("hunks", flat=True).iterator(chunk_size=100):
        content = apply_hunks(content, hunks)
    return content


def announce(document_id: int) -> None:
    """Send the signal `documents_written` once this transaction is committed.

    Errors of receivers are logged: the columns of the row say which projections are behind.
    """

    # A function, because Django names it when it fails; a partial has no name.
    def send() -> None:
        send_written(document_id)

    transaction.on_commit(send, robust=True)


def _locked(space: Space, path: str) -> MemoryDocument:
    """Return the locked document at `path`, created with version 0 if there is none."""
    rows = MemoryDocument.objects.select_for_update().filter(space=space, path=path)
    document = rows.first()
    if document is None:
        # The unique constraint admits one of several concurrent creators; the others wait here for it.
        MemoryDocument.objects.bulk_create([MemoryDocument(space=space, path=path)], ignore_conflicts=True)
        document = rows.get()
    return document


def _content_after(document: MemoryDocument, operation: Operation) -> str:
    match operation:
        case Append(text, separator, heading):
            content = _appended(document.content, text, separator, heading)
        case Replace(content, base_version):
            if not (base_version == 0 and document.is_deleted):
                _refuse_stale(document, base_version)
        case Delete(base_version):
            if document.version == 0 or document.is_deleted:
                raise MissingDocumentError(path=document.path)
            _refuse_stale(document, base_version)
            return ""
    check(document.path, content)
    return content


def _refuse_stale(document: MemoryDocument, base_version: int) -> None:
    if base_version != document.version:
        raise StaleVersionError(path=document.path, seen=base_version, version=document.version)


def _appended(before: str, text: str, separator: Separator, heading: str) -> str:
    """Return `before`, the separator and `text`, each ending with a line end and otherwise unchanged."""
    if not text.endswith("\n"):
        text += "\n"
    if not before:
        return heading + text
    if not before.endswith("\n"):
        before += "\n"
    last = before[:-1].rsplit("\n", 1)[-1]
    is_adjacent = separator is Separator.LINE or not last.strip()
    if separator is Separator.LIST and last.startswith("- ") and text.startswith("- "):
        is_adjacent = True
    return before + ("" if is_adjacent else "\n") + text


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
        is_foreign=author.is_foreign,
        document=document,
        number=document.version,
        kind=kinds[type(operation)],
        source=author.source,
        author=author.user,
        approved_by=author.approved_by,
        message_id=author.message_id,
        reason=author.reason,
        hunks=hunks,
        content_hash=document.content_hash,
        operation_key=author.operation_key,
        created_at=now,
    )
    announce(document.pk)
    return revision
