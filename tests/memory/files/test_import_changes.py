"""Files that people change in the folder come into the documents."""

import datetime as dt
import os
import threading
import time

import pytest
from django.conf import settings

from memory.documents import write
from memory.documents.write import Append, Author, Delete, Replace, Source
from memory.files import disk, mirror, watch
from memory.files.import_changes import conflict_path
from memory.files.scan import scan_folder
from memory.models import MemoryDocument, MemoryRevision
from memory.policy.paths import DOCUMENT_MAX_BYTES

PAGE = Author(Source.PAGE)
pytestmark = pytest.mark.django_db(transaction=True)


REST_SECONDS = disk.WRITE_REST_SECONDS


@pytest.fixture(autouse=True)
def no_rest(monkeypatch):
    """Files count as written whole at once."""
    monkeypatch.setattr(disk, "WRITE_REST_SECONDS", 0)


@pytest.fixture
def folder(space):
    folder = settings.WORKSPACES / str(space.pk)
    folder.mkdir(parents=True)
    return folder


@pytest.fixture
def memory(folder, space):
    """The file of a document with three lines."""
    write.apply(space, "MEMORY.md", Append("- one\n- two\n- three"), PAGE)
    return folder / "MEMORY.md"


def test_a_changed_file_is_one_change_of_its_document(space, memory, document_of, ada):
    memory.write_text("- one\n- 2\n- three\n")
    scan_folder(space)
    scan_folder(space)
    document = document_of(space)
    assert (document.content, document.version, document.mirrored_version) == ("- one\n- 2\n- three\n", 2, 2)
    revision = document.revisions.get(number=2)
    assert (revision.source, revision.author) == ("file", ada)


def test_a_new_file_becomes_a_document(space, folder, document_of):
    (folder / "notes").mkdir()
    (folder / "notes/Tea.md").write_text("green")
    scan_folder(space)
    scan_folder(space)
    assert (document_of(space, "notes/Tea.md").content, document_of(space, "notes/Tea.md").version) == ("green", 1)


def both_changed(monkeypatch, space, memory, in_document, in_file):
    """The document changes, and the file does before it hears of that."""
    with monkeypatch.context() as patched:
        patched.setattr(mirror, "synchronise", lambda document_id: None)
        write.apply(space, "MEMORY.md", Replace(in_document, 1), PAGE)
    memory.write_text(in_file)
    scan_folder(space)


def test_changes_of_different_lines_are_merged(space, memory, document_of, monkeypatch):
    both_changed(monkeypatch, space, memory, "- ONE\n- two\n- three\n", "- one\n- two\n- 3\n- four\n")
    scan_folder(space)
    assert document_of(space).content == memory.read_text() == "- ONE\n- two\n- 3\n- four\n"
    assert MemoryDocument.objects.count() == 1


def test_of_a_line_changed_on_both_sides_the_document_keeps_its_own_and_the_file_is_kept_aside(
    space, memory, document_of, monkeypatch, ada
):
    both_changed(monkeypatch, space, memory, "- ONE\n- two\n- three\n", "- 1\n- two\n- 3\n")
    scan_folder(space)
    assert document_of(space).content == memory.read_text() == "- ONE\n- two\n- 3\n"
    aside = MemoryDocument.objects.get(path__contains="conflict")
    assert aside.path == conflict_path("MEMORY.md", ada.local(aside.created_at))
    assert aside.content == (memory.parent / aside.path).read_text() == "- 1\n- two\n- 3\n"
    assert "in the same lines" in str(aside.revisions.get().reason)


def test_a_file_changed_before_it_is_written_over_is_taken_in_first(space, memory, document_of):
    memory.write_text("- zero\n- one\n- two\n- three\n")
    write.apply(space, "MEMORY.md", Append("- four"), PAGE)
    assert document_of(space).content == memory.read_text() == "- zero\n- one\n- two\n- three\n- four\n"


def test_a_crash_between_taking_in_and_writing_out_takes_nothing_in_twice(space, memory, document_of, monkeypatch):
    with monkeypatch.context() as patched:
        patched.setattr(mirror, "write_file", lambda document_id: None)
        both_changed(monkeypatch, space, memory, "- one\n- two\n- three\n- ours\n", "- one\n- two\n- three\n- file\n")
    scan_folder(space)
    assert document_of(space).content == memory.read_text() == "- one\n- two\n- three\n- ours\n- file\n"


def test_a_changed_file_of_a_document_deleted_meanwhile_is_kept_aside(space, memory, document_of):
    memory.write_text("- changed\n")
    write.apply(space, "MEMORY.md", Delete(1), PAGE)
    assert document_of(space).is_deleted
    assert not memory.exists()
    assert MemoryDocument.objects.get(path__contains="conflict").content == "- changed\n"


def test_a_file_put_where_one_was_deleted_brings_the_document_back(space, memory, document_of):
    write.apply(space, "MEMORY.md", Delete(1), PAGE)
    memory.write_text("- new\n")
    scan_folder(space)
    assert (document_of(space).content, document_of(space).is_deleted) == ("- new\n", False)


def truncated(file, text):
    with file.open("w") as stream:
        stream.write(text)


def renamed(file, text):
    draft = file.with_name(".MEMORY.md.swp")
    draft.write_text(text)
    draft.rename(file)


def backed_up(file, text):
    file.rename(file.with_name("MEMORY.md~"))
    file.write_text(text)


def with_crlf(file, text):
    file.write_bytes(text.replace("\n", "\r\n").encode())


def with_mark(file, text):
    file.write_bytes(b"\xef\xbb\xbf" + text.encode())


@pytest.mark.parametrize("save", [truncated, renamed, backed_up, with_crlf, with_mark])
def test_each_editors_way_of_saving_is_taken_in_once(space, memory, document_of, save):
    save(memory, "- one\n- two\n- three\n- four\n")
    scan_folder(space)
    save(memory, "- one\n- two\n- three\n- four\n")
    scan_folder(space)
    assert (document_of(space).content, document_of(space).version) == ("- one\n- two\n- three\n- four\n", 2)
    assert memory.read_bytes() == b"- one\n- two\n- three\n- four\n"
    assert MemoryDocument.objects.count() == 1


def test_a_file_that_is_being_written_is_left_alone_until_it_rests(space, memory, document_of, monkeypatch):
    monkeypatch.setattr(disk, "WRITE_REST_SECONDS", 60)
    memory.write_text("")
    assert scan_folder(space)
    write.apply(space, "MEMORY.md", Append("- four"), PAGE)
    assert (document_of(space).version, memory.read_text()) == (2, "")
    memory.write_text("- one\n- two\n- three\n- from the editor\n")
    os.utime(memory, (1, 1))
    assert not scan_folder(space)
    assert memory.read_text() == document_of(space).content
    assert {"- four", "- from the editor"} <= set(memory.read_text().split("\n"))


def test_neither_a_missing_file_nor_an_empty_or_missing_folder_deletes_anything(space, memory, document_of):
    memory.unlink()
    scan_folder(space)
    memory.parent.rmdir()
    scan_folder(space)
    assert (document_of(space).version, document_of(space).is_deleted) == (1, False)


def test_a_deleted_file_asks_first(space, memory, append, document_of, ada, client):
    append(space, "other", path="other.md")
    client.force_login(ada)
    question = "The file of MEMORY.md was deleted in the folder."
    assert question not in client.get("/memory/files").content.decode()
    assert "was deleted in its folder" not in client.get("/memory/inbox/").content.decode()
    memory.unlink()
    assert question in client.get("/memory/files").content.decode()
    for page in ("/memory/inbox/", "/memory/"):
        shown = client.get(page).content.decode()
        assert "1 file of your memory was deleted in its folder" in shown, page
        assert "Nothing is waiting for you" not in shown
    address = f"/memory/{document_of(space).pk}/gone"
    client.post(address, {"answer": "keep"})
    assert memory.read_text() == "- one\n- two\n- three\n"
    client.post(address, {"answer": "delete"})
    assert not document_of(space).is_deleted
    memory.unlink()
    client.post(address, {"answer": "delete"})
    assert document_of(space).is_deleted
    assert question not in client.get("/memory/files").content.decode()


def test_a_folder_without_any_file_asks_nothing(space, memory, ada, client):
    client.force_login(ada)
    memory.unlink()
    assert "was deleted in the folder" not in client.get("/memory/files").content.decode()
    memory.parent.rmdir()
    assert "was deleted in the folder" not in client.get("/memory/files").content.decode()


def test_what_is_no_plain_text_file_is_refused_and_logged_once(space, folder, tmp_path, caplog):
    (tmp_path / "outside.md").write_text("secret")
    (folder / "link.md").symlink_to(tmp_path / "outside.md")
    (folder / "hard.md").hardlink_to(tmp_path / "outside.md")
    (folder / "linked").symlink_to(tmp_path)
    os.mkfifo(folder / "pipe.md")
    (folder / "large.md").write_text("x" * (DOCUMENT_MAX_BYTES + 1))
    (folder / "bytes.md").write_bytes(b"\xff\xfe")
    (folder / "nul.md").write_bytes(b"a\0b")
    (folder / "odd\nname.md").write_text("x")
    (folder / " space.md").write_text("x")
    (folder / "cafe\u0301.md").write_text("x")
    (folder / os.fsdecode(b"\xff.md")).write_text("x")
    for _ in range(2):
        scan_folder(space)
    assert not MemoryDocument.objects.exists()
    assert caplog.text.count("is not taken in") == 11
    assert (folder / "large.md").exists()


def test_a_file_that_cannot_be_read_is_put_aside_before_its_document_is_written(space, memory):
    memory.write_bytes(b"\xff")
    write.apply(space, "MEMORY.md", Append("- four"), PAGE)
    assert memory.read_text() == "- one\n- two\n- three\n- four\n"
    assert [path.read_bytes() for path in memory.parent.glob("*.refused")] == [b"\xff"]


def test_a_hard_link_in_place_of_a_file_is_put_aside_and_its_text_stays_outside(space, memory, document_of, tmp_path):
    (tmp_path / "outside.md").write_text("secret")
    memory.unlink()
    memory.hardlink_to(tmp_path / "outside.md")
    os.utime(memory, (1, 1))
    write.apply(space, "MEMORY.md", Append("- four"), PAGE)
    assert memory.read_text() == document_of(space).content == "- one\n- two\n- three\n- four\n"
    assert (tmp_path / "outside.md").read_text() == "secret"
    assert MemoryDocument.objects.count() == 1


def test_a_file_written_in_pieces_is_one_change(space, memory, document_of, monkeypatch):
    monkeypatch.setattr(disk, "WRITE_REST_SECONDS", REST_SECONDS)
    for piece in range(4):
        with memory.open("a") as stream:
            stream.write(f"- piece {piece}\n")
        # Pieces that come 1.2 seconds apart, as the scan meets them.
        os.utime(memory, (time.time() - 1.2,) * 2)
        assert scan_folder(space)
    os.utime(memory, (time.time() - REST_SECONDS - 0.1,) * 2)
    assert not scan_folder(space)
    assert document_of(space).version == 2
    assert memory.read_text().endswith("- piece 3\n")


def test_a_conflict_path_is_never_too_long():
    at = dt.datetime(2026, 11, 21, 14, 32)
    assert conflict_path("memory/a.md", at) == "memory/a (conflict 2026-11-21 1432).md"
    assert conflict_path("a.md", at, 2) == "a (conflict 2026-11-21 1432 2).md"
    assert len(conflict_path("🫖" * 63 + ".md", at).encode()) <= 255


def test_the_scan_looks_through_every_folder(space, memory, document_of):
    memory.write_text("- scanned\n")
    (settings.WORKSPACES / "999999").mkdir()
    (settings.WORKSPACES / "nobody's").mkdir()
    watch.scan_all()
    assert document_of(space).content == "- scanned\n"


def test_the_watcher_takes_a_change_in_within_seconds(space, memory, document_of):
    stop = threading.Event()
    thread = threading.Thread(target=watch.watch, args=(stop,))
    thread.start()
    try:
        time.sleep(0.3)
        memory.write_text("- watched\n")
        give_up = time.monotonic() + 5
        while document_of(space).version == 1:
            assert time.monotonic() < give_up
            time.sleep(0.05)
    finally:
        stop.set()
        thread.join(10)
    assert not thread.is_alive()
    assert MemoryRevision.objects.get(number=2).source == "file"
