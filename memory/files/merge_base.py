"""Find the merge base of a document and its file: the last content that both had."""

from memory.documents import write
from memory.models import MemoryDocument, MemoryRevision, content_hash
from memory.policy import tombstones
from memory.policy.line_ends import with_line_ends_of


def is_imported(document: MemoryDocument, text: str, mirrored_version: int | None = None) -> bool:
    """Return whether `text`, of the file, is that of the document, or was already written or imported before.

    `mirrored_version` is the version that the file last had in common with the document; without it, that of the row.
    """
    # Forgotten lines are not imported again: the file is overwritten without them.
    text = tombstones.of_space(document.space_id).without(text)
    if text == document.content and not document.is_deleted:
        return True
    # Usually the file is unchanged: comparing hashes avoids applying all revisions.
    mirrored = mirrored_revision(document, mirrored_version)
    if mirrored is not None and mirrored.content_hash == content_hash(text):
        return True
    number = document.mirrored_version if mirrored_version is None else mirrored_version
    later = document.revisions.filter(number__gt=number).exclude(kind=MemoryRevision.Kind.DELETE)
    if later.filter(content_hash=content_hash(text)).exists():
        # The mirror wrote a later version, and was killed before the row said so.
        return True
    base, existed = last_common(document, mirrored_version)
    if existed and with_line_ends_of(base, text) == base:
        return True
    key = operation_key(document, text, mirrored_version)
    return MemoryRevision.objects.filter(space=document.space, operation_key__in=[key, f"{key}:aside"]).exists()


def last_common(document: MemoryDocument, mirrored_version: int | None = None) -> tuple[str, bool]:
    """Return the content that the file last had in common with `document`, and whether there was a file then."""
    revision = mirrored_revision(document, mirrored_version)
    if revision is None:
        return "", False
    if revision.number == document.version:
        return document.content, True
    return write.content_at(document, revision.number), True


def mirrored_revision(document: MemoryDocument, mirrored_version: int | None = None) -> MemoryRevision | None:
    """Return the revision of `document` that its file last held; None when there was no file."""
    number = document.mirrored_version if mirrored_version is None else mirrored_version
    revisions = document.revisions.filter(number=number).exclude(kind=MemoryRevision.Kind.DELETE)
    return revisions.only("number", "content_hash", "document_id").first()


def operation_key(document: MemoryDocument, text: str, mirrored_version: int | None = None) -> str:
    """Return the idempotency key for importing `text` from the file of `document`."""
    number = document.mirrored_version if mirrored_version is None else mirrored_version
    return f"file:{document.pk}:{number}:{content_hash(text)[:32]}"
