"""What an archive unpacks to is bounded for each file by what such a file may be, and read piece by piece."""

import io
import json
import tracemalloc
import zipfile
from dataclasses import replace

import pytest

from memory.models import LibraryFile, MemoryDocument
from oneclaw.leaving import archive
from oneclaw.models import Space
from oneclaw.zipping import ArchiveReader, ArchiveTooLargeError, MemberTooLargeError

MEGABYTE_BYTES = 1024 * 1024
ZEROS = b"\0" * MEGABYTE_BYTES


def packed(**files):
    """An archive of an account with these files: their bytes, or the megabytes of zeros that they have."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as written:
        written.writestr("account.json", json.dumps({"format": archive.FORMAT, "version": archive.VERSION}))
        for name, content in files.items():
            with written.open(name, "w", force_zip64=True) as entry:
                for piece in [ZEROS] * content if isinstance(content, int) else [content]:
                    entry.write(piece)
    return file


def peak_megabytes(act):
    tracemalloc.start()
    try:
        act()
        return tracemalloc.get_traced_memory()[1] / MEGABYTE_BYTES
    finally:
        tracemalloc.stop()


def test_no_more_of_a_file_is_unpacked_than_it_may_have():
    incoming = ArchiveReader(packed(**{"memory/a.md": 200}), 1_000 * MEGABYTE_BYTES)

    def read():
        with pytest.raises(MemberTooLargeError):
            incoming.read("memory/a.md", MEGABYTE_BYTES)

    assert peak_megabytes(read) < 5
    assert incoming.read("memory/b.md", MEGABYTE_BYTES) is None


def test_no_more_of_an_archive_is_unpacked_than_it_may_have_and_a_file_counts_once():
    incoming = ArchiveReader(packed(a=b"1" * 600, b=b"2" * 600), 1_000)
    for _ in range(3):
        assert incoming.read("a", 1_000) == b"1" * 600
    with pytest.raises(ArchiveTooLargeError) as refused:
        incoming.read("b", 1_000)
    assert not isinstance(refused.value, MemberTooLargeError)


@pytest.mark.django_db(transaction=True)
def test_a_file_that_is_too_large_is_refused_and_the_others_are_taken_in(ada, settings):
    settings.LIBRARY_LIMITS = replace(settings.LIBRARY_LIMITS, file_max_bytes=2 * MEGABYTE_BYTES)
    settings.FILES = replace(settings.FILES, max_bytes=2 * MEGABYTE_BYTES)
    bomb = packed(
        **{
            "memory/MEMORY.md": b"- Likes tea.\n",
            "memory/bomb.md": 100,
            "library/bomb.txt": 100,
            "library-versions/1/bomb.txt": 100,
            "library/tea.txt": b"Tea",
            "conversations/0001 bomb.json": 100,
        }
    )
    assert len(bomb.getvalue()) < MEGABYTE_BYTES
    counts = {}
    assert peak_megabytes(lambda: counts.update(archive.read(ada, bomb))) < 130
    assert (counts["documents"], counts["documents_refused"]) == (1, 1)
    assert (counts["library_files"], counts["library_files_refused"]) == (1, 1)
    assert counts["conversations_refused"] == 1
    own = Space.objects.own_of(ada)
    assert list(MemoryDocument.objects.filter(space=own).values_list("path", flat=True)) == ["MEMORY.md"]
    assert list(LibraryFile.objects.filter(space=own).values_list("name", flat=True)) == ["tea.txt"]
