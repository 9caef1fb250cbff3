"""Documents as files."""

import errno
import os
import threading

import pytest
from django.conf import settings
from django.db import connection
from django.test.utils import CaptureQueriesContext

from memory.documents import write as documents
from memory.documents.write import Append, Author, Delete, Replace, Source
from memory.files import disk, mirror
from memory.models import MemoryDocument

AUTHOR = Author(Source.PAGE)


@pytest.fixture
def file_of(space):
    def file_of(path="MEMORY.md"):
        return settings.WORKSPACES / str(space.pk) / path

    return file_of


def write(space, text, path="MEMORY.md"):
    return documents.apply(space, path, Append(text), AUTHOR).document


def test_a_document_becomes_a_file(space, file_of, document_of):
    document = write(space, "tea", "memory/2026-11-21.md")
    mirror.mirror_document(document.pk)
    assert file_of("memory/2026-11-21.md").read_bytes() == b"tea\n"
    assert document_of(space, "memory/2026-11-21.md").mirrored_version == 1


def test_every_byte_of_the_content_stands_in_the_file(space, file_of):
    content = "\ufeffé 🫖\r\nlone\rno end"
    document = documents.apply(space, "a.md", Replace(content, 0), AUTHOR).document
    mirror.mirror_document(document.pk)
    assert file_of("a.md").read_bytes() == content.encode()


def test_the_file_follows_each_commit(space, file_of, django_capture_on_commit_callbacks):
    for number in (1, 2):
        with django_capture_on_commit_callbacks(execute=True):
            write(space, f"line {number}")
    assert file_of().read_text() == "line 1\nline 2\n"


def test_the_file_of_a_deleted_document_is_removed(space, file_of, document_of):
    document = write(space, "tea")
    mirror.mirror_document(document.pk)
    documents.apply(space, "MEMORY.md", Delete(1), AUTHOR)
    mirror.mirror_document(document.pk)
    assert not file_of().exists()
    assert document_of(space).mirrored_version == 2
    # Removed by somebody else meanwhile, or never written: just as well.
    MemoryDocument.objects.update(mirrored_version=0)
    mirror.mirror_document(document.pk)
    assert document_of(space).mirrored_version == 2


def test_only_its_owner_may_read_the_file(space, file_of):
    mirror.mirror_document(write(space, "tea", "memory/a.md").pk)
    assert file_of("memory/a.md").stat().st_mode & 0o777 == 0o600
    assert file_of("memory").stat().st_mode & 0o777 == 0o700


def test_no_draft_is_left_behind(space, file_of):
    mirror.mirror_document(write(space, "tea").pk)
    assert os.listdir(file_of().parent) == ["MEMORY.md"]


def test_a_symbolic_link_in_place_of_the_file_is_replaced_and_not_followed(space, file_of, tmp_path):
    outside = tmp_path / "outside.md"
    outside.write_text("untouched")
    file_of().parent.mkdir(parents=True)
    file_of().symlink_to(outside)
    mirror.mirror_document(write(space, "tea").pk)
    assert outside.read_text() == "untouched"
    assert not file_of().is_symlink()
    assert file_of().read_text() == "tea\n"


def test_a_symbolic_link_in_place_of_a_folder_is_refused(space, file_of, tmp_path, document_of):
    (tmp_path / "outside").mkdir()
    file_of().parent.mkdir(parents=True)
    file_of("memory").symlink_to(tmp_path / "outside")
    document = write(space, "tea", "memory/a.md")
    with pytest.raises(OSError):
        mirror.mirror_document(document.pk)
    assert os.listdir(tmp_path / "outside") == []
    assert document_of(space, "memory/a.md").mirrored_version == 0


def test_what_the_disk_refuses_is_logged_and_stays_to_be_done(
    space, file_of, document_of, caplog, django_capture_on_commit_callbacks
):
    file_of().parent.parent.mkdir(parents=True)
    file_of().parent.write_text("a file where the folder should be")
    with django_capture_on_commit_callbacks(execute=True):
        document = write(space, "tea")
    assert "could not be written to its file; the sweep tries again" in caplog.text
    assert document_of(space).content == "tea\n"
    assert list(MemoryDocument.objects.to_mirror()) == [document]
    file_of().parent.unlink()
    assert mirror.try_to_mirror(document.pk)
    assert file_of().read_text() == "tea\n"
    assert not MemoryDocument.objects.to_mirror().exists()


def test_a_full_disk_leaves_the_old_file_as_it_was(space, file_of, monkeypatch):
    document = write(space, "old")
    mirror.mirror_document(document.pk)

    def full(file):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(disk.os, "fsync", full)
    write(space, "new")
    assert not mirror.try_to_mirror(document.pk)
    assert file_of().read_text() == "old\n"
    assert os.listdir(file_of().parent) == ["MEMORY.md"]


@pytest.mark.django_db(transaction=True)
def test_many_writers_and_mirrors_at_once_leave_the_newest_content(space, file_of):
    start = threading.Barrier(8)

    def work(number):
        try:
            start.wait()
            for round in range(5):
                # Its commit mirrors it at once, beside the others.
                write(space, f"line {number}.{round}")
        finally:
            connection.close()

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    document = MemoryDocument.objects.get()
    assert (document.version, document.mirrored_version) == (40, 40)
    assert file_of().read_text() == document.content


def test_a_long_history_is_not_added_up_to_write_the_file(space, file_of, django_capture_on_commit_callbacks):
    for number in (1, 2, 3):
        with CaptureQueriesContext(connection) as queries, django_capture_on_commit_callbacks(execute=True):
            write(space, f"line {number}")
    assert file_of().read_text() == "line 1\nline 2\nline 3\n"
    assert not [query["sql"] for query in queries if '"hunks" AS' in query["sql"]]
