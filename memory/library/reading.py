"""Read a version of a file: its pages become text, chunks and terms in one transaction, and vectors after it.

run(version_id)     # any worker, any number of times
"""

import logging
import uuid

from django.db import transaction

from memory.index.embeddings.failures import EmbeddingError
from memory.library import files, indexing, vectors
from memory.library.extract import LibraryFileUnreadableError, ReadFile, read_file
from memory.models import FileIndex, FileVersion, LibraryFile
from memory.text.index_format import LAYOUT_VERSION
from oneclaw.fair_slots import NoSlotError, ThreadSlots
from oneclaw.jobs import ClaimLostError, DueJob

logger = logging.getLogger(__name__)

# Files that a process reads at once. More would keep a worker from everything else, and a file takes seconds.
_slots: ThreadSlots[int] = ThreadSlots(2)
# Attempts until a file counts as one that its reader does not survive.
MAX_ATTEMPTS = 3
# The unchanged text of an index is read again in batches of this many files.
REBUILD_FILES = 50


def run(version_id: uuid.UUID) -> DueJob | None:
    """Read the version if it is due and not claimed by another worker, and return another one that is due.

    Idempotent: a worker that continues after one that was killed begins the file again, and writes it once.
    """
    try:
        # Of two calls for one version, the second finds its slot taken.
        with _slots.slot(version_id.int, 0):
            version = FileVersion.objects.claim(version_id)
            if version is not None:
                _read(version)
    except NoSlotError:
        # Those that read continue with what is due.
        return None
    following = FileVersion.objects.due().first()
    return DueJob(following.pk) if following else None


def _read(version: FileVersion) -> None:
    name = LibraryFile.objects.values_list("name", flat=True).get(pk=version.file_id)

    def progress(pages: int) -> None:
        if pages > version.pages_read:
            version.renew(pages_read=pages)
            version.pages_read = pages

    with version.attempt():
        try:
            if version.attempts > MAX_ATTEMPTS:
                raise LibraryFileUnreadableError("faulty")
            data = files.content_of(version)
            if data is None:
                raise LibraryFileUnreadableError("missing")
            with version.renewals():
                read = read_file(name, data, progress)
                content = indexing.content_of(version, name, read.texts)
            _finish(version, read, content)
            vectors.embed_file(version.file_id)
        except LibraryFileUnreadableError as error:
            version.finish(FileVersion.Status.FAILED, error.code)
        except EmbeddingError as failure:
            logger.info("%s waits for its vectors: %s", version, failure)


@transaction.atomic
def _finish(version: FileVersion, read: ReadFile, content: indexing.FileContent) -> None:
    """Write what was read under the claim. A version that came later and was read sooner stays the one searched."""
    if version.number == 1:
        _write(version, read, content)
        return
    file = LibraryFile.objects.filter(pk=version.file_id).first()
    if file is None:
        raise ClaimLostError
    with vectors.without_unused(file):
        _write(version, read, content)


def _write(version: FileVersion, read: ReadFile, content: indexing.FileContent) -> None:
    file = LibraryFile.objects.select_for_update(no_key=True).filter(pk=version.file_id).first()
    if file is None:
        raise ClaimLostError
    version.finish(
        kind=read.kind,
        pages=read.pages,
        pages_read=len(content.pages) if read.pages else 0,
        lines=content.lines,
        characters=sum(len(page.text) for page in content.pages),
        is_cut=read.is_cut,
        hidden_sheets=read.hidden_sheets,
    )
    later = FileIndex.objects.filter(file=file, version__number__gt=version.number)
    if later.exists():
        indexing.write_pages(version, content)
        return
    indexing.write(version, file.space_id, content)


def rebuild(limit: int = REBUILD_FILES) -> int:
    """Index files again whose index has another layout than the search reads; return how many."""
    behind = FileIndex.objects.exclude(layout=LAYOUT_VERSION).values_list("version", flat=True)[:limit]
    versions = list(FileVersion.objects.filter(pk__in=behind).select_related("file"))
    for version in versions:
        texts = list(version.texts.order_by("number").values_list("text", flat=True))
        content = indexing.content_of(version, version.file.name, texts)
        with transaction.atomic(), vectors.without_unused(version.file):
            held = FileIndex.objects.select_for_update(no_key=True).filter(file=version.file, version=version)
            if held.exists():
                indexing.write(version, version.file.space_id, content)
    return len(versions)
