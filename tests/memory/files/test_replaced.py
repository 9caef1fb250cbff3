"""A file that is saved in the moment in which the mirror replaces it is taken in as well."""

import errno
import os
import random
import threading
import time

import pytest
from django.conf import settings

from memory.documents import write
from memory.documents.write import Append, Author, Delete, Source
from memory.files import disk, mirror, replaced
from memory.files.scan import scan_folder
from memory.models import MemoryDocument, MemoryRevision
from oneclaw.files import system_calls

PAGE = Author(Source.PAGE)
pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def memory(space):
    """The file of a document with two lines."""
    write.apply(space, "MEMORY.md", Append("- one\n- two"), PAGE)
    return settings.WORKSPACES / str(space.pk) / "MEMORY.md"


@pytest.fixture
def just_before(monkeypatch):
    """just_before(act): `act` once between the mirror's look at the file and its replacement."""

    def just_before(act):
        acts, replace_file = [act], replaced.replace_file

        def late(*arguments):
            if acts:
                acts.pop()()
            replace_file(*arguments)

        monkeypatch.setattr(mirror, "replace_file", late)

    return just_before


@pytest.fixture(params=["exchanged", "moved"])
def system(request, monkeypatch):
    """A system that can exchange two names, and one that cannot and knows no writers."""

    def unsupported(*_):
        raise system_calls.UnsupportedCallError("renameat2")

    if request.param == "moved":
        monkeypatch.setattr(system_calls, "exchange", unsupported)
        monkeypatch.setattr(system_calls, "rename_new", unsupported)
        monkeypatch.setattr(system_calls, "has_writer", lambda file: None)
        monkeypatch.setattr(disk, "WRITE_REST_SECONDS", 0)


def appended(file, line):
    with file.open("a") as stream:
        stream.write(f"{line}\n")


def renamed(file, line):
    draft = file.with_name(".draft.swp")
    draft.write_text(f"{file.read_text()}{line}\n")
    draft.rename(file)


@pytest.mark.parametrize("save", [appended, renamed])
def test_an_edit_in_the_moment_of_a_save_stands_in_the_document(space, memory, document_of, just_before, system, save):
    just_before(lambda: save(memory, "- by hand"))
    write.apply(space, "MEMORY.md", Append("- three"), PAGE)
    assert set(document_of(space).content.splitlines()) == {"- one", "- two", "- three", "- by hand"}
    assert memory.read_text() == document_of(space).content
    assert os.listdir(memory.parent) == ["MEMORY.md"]
    assert MemoryDocument.objects.count() == 1


def test_an_edit_in_the_moment_of_a_deletion_is_kept_in_a_conflict_copy(space, memory, document_of, just_before):
    just_before(lambda: appended(memory, "- by hand"))
    write.apply(space, "MEMORY.md", Delete(1), PAGE)
    assert document_of(space).is_deleted
    assert not memory.exists()
    assert MemoryDocument.objects.get(path__contains="conflict").content == "- one\n- two\n- by hand\n"


def test_a_file_made_in_the_moment_of_a_save_is_kept_in_a_conflict_copy(space, memory, document_of, just_before):
    memory.unlink()
    just_before(lambda: memory.write_text("- by hand\n"))
    write.apply(space, "MEMORY.md", Append("- three"), PAGE)
    texts = set(MemoryDocument.objects.values_list("content", flat=True))
    assert "- by hand" in "".join(texts)
    assert memory.read_text() == document_of(space).content


def test_what_an_editor_opened_before_and_writes_after_a_save_is_taken_in(space, memory, document_of):
    with memory.open("a") as stream:
        write.apply(space, "MEMORY.md", Append("- three"), PAGE)
        # It waits for the editor, and so does the next version.
        assert scan_folder(space)
        write.apply(space, "MEMORY.md", Append("- four"), PAGE)
        assert memory.read_text() == "- one\n- two\n- three\n"
        stream.write("- by hand\n")
    scan_folder(space)
    assert set(document_of(space).content.splitlines()) == {"- one", "- two", "- three", "- four", "- by hand"}
    assert memory.read_text() == document_of(space).content
    assert os.listdir(memory.parent) == ["MEMORY.md"]


def test_a_program_that_never_closes_the_file_does_not_stop_the_mirror(space, memory, document_of, monkeypatch):
    with memory.open("a"):
        write.apply(space, "MEMORY.md", Append("- three"), PAGE)
        monkeypatch.setattr(replaced, "OPEN_FILE_REST_SECONDS", 0)
        write.apply(space, "MEMORY.md", Append("- four"), PAGE)
        assert memory.read_text() == document_of(space).content == "- one\n- two\n- three\n- four\n"


def test_an_edit_that_cannot_be_read_is_put_aside(space, memory, just_before):
    just_before(lambda: memory.write_bytes(b"\xff"))
    write.apply(space, "MEMORY.md", Append("- three"), PAGE)
    assert memory.read_text() == "- one\n- two\n- three\n"
    assert [path.read_bytes() for path in memory.parent.glob("MEMORY.md.*.refused")] == [b"\xff"]


def test_a_crash_after_the_exchange_loses_nothing(space, memory, document_of, just_before, monkeypatch):
    def killed(*_):
        raise OSError(errno.EIO, "killed")

    just_before(lambda: appended(memory, "- by hand"))
    with monkeypatch.context() as patched:
        patched.setattr(mirror, "is_unchanged", killed)
        write.apply(space, "MEMORY.md", Append("- three"), PAGE)
    assert document_of(space).content == "- one\n- two\n- three\n"
    scan_folder(space)
    assert set(document_of(space).content.splitlines()) == {"- one", "- two", "- three", "- by hand"}
    assert memory.read_text() == document_of(space).content
    assert os.listdir(memory.parent) == ["MEMORY.md"]


def test_a_crash_before_the_exchange_brings_nothing_back(space, memory, document_of, monkeypatch):
    def killed(*_):
        raise RuntimeError("killed")

    with monkeypatch.context() as patched:
        patched.setattr(system_calls, "exchange", killed)
        write.apply(space, "MEMORY.md", Append("- three"), PAGE)
    assert len(os.listdir(memory.parent)) == 2
    with monkeypatch.context() as patched:
        patched.setattr(mirror, "synchronise", lambda document_id: None)
        write.apply(space, "MEMORY.md", write.Replace("- one\n- two\n", 2), PAGE)
    scan_folder(space)
    mirror.mirror_document(document_of(space).pk)
    assert memory.read_text() == document_of(space).content == "- one\n- two\n"
    assert os.listdir(memory.parent) == ["MEMORY.md"]


def test_a_folder_in_place_of_the_file_stays(space, memory, caplog):
    memory.unlink()
    memory.mkdir()
    write.apply(space, "MEMORY.md", Append("- three"), PAGE)
    assert memory.is_dir()
    assert "could not be written to its file" in caplog.text


@pytest.mark.faults
@pytest.mark.timeout(600)
def test_of_a_thousand_edits_beside_saves_each_stands_in_a_revision(space, memory, monkeypatch):
    monkeypatch.setattr(disk, "WRITE_REST_SECONDS", 0)
    edits, moments = 1000, random.Random(14)
    saving, edited = threading.Semaphore(0), threading.Semaphore(0)

    def edit():
        for number in range(edits):
            saving.acquire()
            time.sleep(moments.uniform(0, 0.02))
            (appended, renamed)[number % 2](memory.with_name(f"{number // 50}.md"), f"- edit {number}.")
            edited.release()

    thread = threading.Thread(target=edit)
    thread.start()
    for number in range(edits):
        # Several documents, because a long history takes longer to compare with.
        if number % 50 == 0:
            write.apply(space, f"{number // 50}.md", Append("- begun"), PAGE)
        saving.release()
        write.apply(space, f"{number // 50}.md", Append(f"- saved {number}."), PAGE)
        edited.acquire()
        scan_folder(space)
    thread.join()
    for _ in range(3):
        scan_folder(space)
    lines = {
        line
        for hunks in MemoryRevision.objects.filter(space=space).values_list("hunks", flat=True)
        for hunk in hunks
        for line in hunk["added"]
    }
    assert [number for number in range(edits) if f"- edit {number}." not in lines] == []
