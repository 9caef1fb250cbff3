"""What people change in the files of their folder comes into the documents: each change once, and none is lost.

The last common state is the document's version that the file held, so a change of either side is known line by line.
"""

import datetime as dt
import logging
import unicodedata

from django.db import transaction

from memory.documents import write
from memory.documents.merge import merge
from memory.documents.write import Author, Replace, Source
from memory.files import disk, mirror
from memory.models import MemoryDocument, MemoryRevision, content_hash
from memory.policy import tombstones
from memory.policy.line_ends import as_before
from memory.policy.locks import hold
from memory.policy.paths import LONGEST, BadPath, checked_path
from oneclaw.models import Space, User
from oneclaw.reasons import Reason

logger = logging.getLogger(__name__)

# Files that were refused, so that each is logged once and not each minute.
refusals: set[tuple[int, str, str]] = set()


def look_through(space: Space) -> bool:
    """Take in every changed file of the space's folder.

    Whether one is being written now, so that it must be looked at again.

    A file that is not there says nothing: neither does an empty folder, nor a missing one.
    """
    folder = mirror.folder_of(space)
    columns = ("path", "pk", "version", "mirrored_version", "content_hash", "deleted_at")
    held = {path: rest for path, *rest in space.documents.values_list(*columns)}
    restless = False
    try:
        for found in disk.walk(folder):
            if found.is_hidden or not (found.is_link or found.path.endswith(".md")):
                continue
            try:
                text = checked_text(space, found)
                pk, version, mirrored, hash, deleted_at = held.get(found.path, (None, 0, 0, "", None))
                if mirrored == version and hash == content_hash(text) and pk and deleted_at is None:
                    continue
                if not disk.is_at_rest(folder, found.path):
                    restless = True
                elif pk is None:
                    take_in_new(space, found.path)
                else:
                    mirror.settle(pk)
            except (disk.Refused, write.BadText, write.DocumentError, BadPath) as refusal:
                refuse(space, found, str(refusal))
    except FileNotFoundError:
        # The folder, or one in it, was not there or went meanwhile.
        pass
    except OSError:
        logger.exception("The folder of space %s could not be looked through; the next scan tries again.", space.pk)
    return restless


@transaction.atomic
def take_in(document_id: int) -> None:
    """The change that was made in the document's file becomes one of the document, once.

    Lines that both sides changed stay as the document has them; the file's text then goes to a document of its own.
    """
    hold(f"mirror {document_id}")
    rows = MemoryDocument.objects.filter(pk=document_id).select_related("space")
    document = rows.first()
    text = mirror.standing(document) if document else None
    if document is None or text is None or is_taken_in(document, text):
        return
    if not disk.is_at_rest(mirror.folder_of(document.space), document.path):
        return
    # From here on nobody else changes the document.
    document = rows.select_for_update(of=("self",)).get()
    base, stood = last_common(document)
    learnt = tombstones.of_space(document.space_id).without(text)
    theirs, key = as_before(base, learnt), operation_key(document, learnt)
    author = Author(Source.FILE, editor(document.space), reason=Reason("change.file_changed"), operation_key=key)
    if document.is_deleted and not stood:
        # Its deletion had reached the folder: this is a new file.
        changed, is_whole = theirs, True
    elif document.is_deleted or not stood:
        changed, is_whole = None, False
    else:
        merged = merge(base, document.content, theirs)
        changed, is_whole = merged.text, merged.is_whole
    if not is_whole:
        keep_aside(document, theirs, key)
    if changed is None or (changed == document.content and not document.is_deleted):
        return
    try:
        revision = write.apply(document.space, document.path, Replace(changed, document.version), author)
    except write.TooLarge:
        # Each side fits, but not both together.
        if is_whole:
            keep_aside(document, theirs, key)
        return
    if revision and changed == text:
        rows.update(mirrored_version=revision.number)


@transaction.atomic
def take_in_new(space: Space, path: str) -> None:
    """A file without a document becomes one."""
    hold(f"take in {space.pk} {path}")
    if space.documents.filter(path=path).exists():
        return
    text = disk.read(mirror.folder_of(space), path)
    author = Author(Source.FILE, editor(space), reason=Reason("change.file_new"))
    revision = write.apply(space, path, Replace(text, 0), author)
    # Without what was forgotten it is another text, and the file is still to be written.
    if revision and revision.content_hash == content_hash(text):
        MemoryDocument.objects.filter(pk=revision.document_id).update(mirrored_version=revision.number)


def is_taken_in(document: MemoryDocument, text: str) -> bool:
    """Whether the file's text is one that the document has, or had when the file was last written or taken in."""
    # What was forgotten is not taken in again: the file is written over without it.
    text = tombstones.of_space(document.space_id).without(text)
    if text == document.content and not document.is_deleted:
        return True
    # Mostly the file is as it was left: then nothing need be added up.
    mirrored = mirrored_revision(document)
    if mirrored is not None and mirrored.content_hash == content_hash(text):
        return True
    base, stood = last_common(document)
    if stood and as_before(base, text) == base:
        return True
    key = operation_key(document, text)
    return MemoryRevision.objects.filter(space=document.space, operation_key__in=[key, f"{key}:aside"]).exists()


def last_common(document: MemoryDocument) -> tuple[str, bool]:
    """The content that the file was last known to hold, and whether there was a file then."""
    revision = mirrored_revision(document)
    if revision is None:
        return "", False
    if revision.number == document.version:
        return document.content, True
    return write.content_at(document, revision.number), True


def mirrored_revision(document: MemoryDocument) -> MemoryRevision | None:
    """The revision that the file was last known to hold; None when there was no file then."""
    revisions = document.revisions.filter(number=document.mirrored_version).exclude(kind=MemoryRevision.Kind.DELETE)
    return revisions.only("number", "content_hash", "document_id").first()


def operation_key(document: MemoryDocument, text: str) -> str:
    return f"file:{document.pk}:{document.mirrored_version}:{content_hash(text)[:32]}"


def keep_aside(document: MemoryDocument, text: str, key: str) -> None:
    """The file's text in a document of its own, beside the one whose lines were kept."""
    at = document.space.owner.local()
    reason = Reason("change.both_changed", {"path": document.path})
    author = Author(Source.FILE, editor(document.space), reason=reason, operation_key=f"{key}:aside")
    number = 1
    while document.space.documents.filter(path=(path := conflict_path(document.path, at, number))).exists():
        number += 1
    write.apply(document.space, path, Replace(text, 0), author)


def conflict_path(path: str, at: dt.datetime, number: int = 1) -> str:
    """`name (conflict YYYY-MM-DD HHMM).md`, and with a number when there is such a one."""
    mark = f" (conflict {at:%Y-%m-%d %H%M}{f' {number}' if number > 1 else ''}).md"
    stem = path.removesuffix(".md").encode()[: LONGEST - len(mark)]
    return unicodedata.normalize("NFC", stem.decode(errors="ignore").rstrip()) + mark


def checked_text(space: Space, found: disk.Found) -> str:
    """The file's text; BadPath or Refused when it cannot be a document."""
    if found.is_link:
        raise BadPath("It is a symbolic link: only plain files are taken in.")
    if checked_path(found.path) != found.path:
        raise BadPath("Its name is not in Unicode form NFC.")
    text = disk.read(mirror.folder_of(space), found.path)
    write.check(found.path, text)
    return text


def refuse(space: Space, found: disk.Found, why: str) -> None:
    refusal = (space.pk, found.path, why)
    if refusal not in refusals:
        refusals.add(refusal)
        logger.warning("The file %r of space %s is not taken in: %s", found.path, space.pk, why)


def editor(space: Space) -> User | None:
    """Who changed a file: of a person's own folder that person; of a shared one nobody knows."""
    return space.owner if space.is_private else None
