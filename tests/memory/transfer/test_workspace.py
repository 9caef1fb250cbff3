"""Memory as a folder: in and out, byte for byte."""

import os

import pytest

from memory.documents import write
from memory.documents.write import Author, Delete, Source
from memory.models import MemoryDocument, MemoryRevision
from memory.transfer import workspace
from oneclaw.reasons import Reason

CONTENTS = {
    "MEMORY.md": b"- Ada likes tea.\n",
    "AGENTS.md": b"\xef\xbb\xbfa byte order mark\r\nand CRLF",
    "memory/2026-11-21.md": "# é 🫖\rlone CR\n\n\n".encode(),
    "memory/archive/old.md": b"",
    "Recent Conversations.md": b"no line end",
}


@pytest.fixture
def folder(tmp_path):
    folder = tmp_path / "workspace"
    for path, content in CONTENTS.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(content)
    return folder


def test_a_workspace_folder_becomes_documents(folder, space, ada):
    report = workspace.import_folder(folder, space, ada)
    assert sorted(report.written) == sorted(CONTENTS)
    stored = {document.path: document.content.encode() for document in space.documents.all()}
    assert stored == CONTENTS
    revision = MemoryRevision.objects.first()
    assert (revision.source, revision.author, revision.reason) == ("import", ada, Reason("change.folder_imported"))


def test_the_export_is_the_inverse_byte_for_byte(folder, space, ada, tmp_path):
    workspace.import_folder(folder, space, ada)
    out = tmp_path / "out"
    assert sorted(workspace.export_folder(out, space).written) == sorted(CONTENTS)
    written = {str(file.relative_to(out)): file.read_bytes() for file in out.rglob("*") if file.is_file()}
    assert written == CONTENTS


def test_unchanged_files_make_no_revision(folder, space, ada):
    workspace.import_folder(folder, space, ada)
    (folder / "MEMORY.md").write_text("- Ada likes coffee.\n")
    report = workspace.import_folder(folder, space, ada)
    assert report.written == ["MEMORY.md"]
    assert sorted(report.unchanged) == sorted(set(CONTENTS) - {"MEMORY.md"})
    assert MemoryRevision.objects.count() == len(CONTENTS) + 1


def test_what_is_missing_in_the_folder_is_not_deleted(folder, space, ada):
    workspace.import_folder(folder, space, ada)
    (folder / "MEMORY.md").unlink()
    workspace.import_folder(folder, space, ada)
    assert MemoryDocument.objects.present().count() == len(CONTENTS)


def test_a_deleted_document_comes_back(folder, space, ada, document_of):
    workspace.import_folder(folder, space, ada)
    write.apply(space, "MEMORY.md", Delete(1), Author(Source.PAGE))
    write.apply(space, "memory/archive/old.md", Delete(1), Author(Source.PAGE))
    assert sorted(workspace.import_folder(folder, space, ada).written) == ["MEMORY.md", "memory/archive/old.md"]
    assert document_of(space).content == "- Ada likes tea.\n"


def test_what_cannot_be_taken_is_refused_with_a_line_and_the_rest_is_taken(folder, space, ada, tmp_path):
    secret = tmp_path / "secret.md"
    secret.write_text("secret")
    (folder / "link.md").symlink_to(secret)
    (folder / "linked").symlink_to(tmp_path)
    (folder / "large.md").write_bytes(b"x" * (1024 * 1024 + 1))
    (folder / "odd.md").write_bytes(b"caf\x81\xff\xfe\x8f")
    (folder / "nul.md").write_bytes(b"a\x00b")
    (folder / "b\\s.md").write_text("x")
    os.mkfifo(folder / "pipe.md")
    (folder / os.fsdecode(b"odd\xff.md")).write_text("x")
    report = workspace.import_folder(folder, space, ada)
    assert sorted(report.written) == sorted(CONTENTS)
    assert report.refused == {
        "link.md": "link.md is a symbolic link: only plain files are taken.",
        "linked": "linked is a symbolic link: only plain files are taken.",
        "large.md": "large.md has more than 1,048,576 bytes.",
        "odd.md": "odd.md is not valid UTF-8, and its encoding is not known.",
        "nul.md": "nul.md cannot hold this text: it contains NUL or half a surrogate pair.",
        "b\\s.md": "“b\\s.md” cannot be a file of a memory: write its path relative to the folder, with /.",
        "pipe.md": "pipe.md is not a file.",
        "odd?.md": "“odd\ufffd.md” cannot be a file of a memory: it contains control characters.",
    }
    assert not MemoryDocument.objects.filter(content__contains="secret").exists()


def test_other_and_hidden_files_are_left_aside(folder, space, ada):
    (folder / ".git").mkdir()
    (folder / ".git/x.md").write_text("x")
    (folder / "picture.png").write_bytes(b"\x89PNG")
    report = workspace.import_folder(folder, space, ada)
    assert sorted(report.skipped) == [".git", "picture.png"]
    assert report.refused == {}


def test_two_unicode_forms_of_one_name_are_taken_once(space, ada, tmp_path, document_of):
    (tmp_path / "caf\u00e9.md").write_text("composed")
    (tmp_path / "cafe\u0301.md").write_text("decomposed")
    report = workspace.import_folder(tmp_path, space, ada)
    assert report.written == ["caf\u00e9.md"]
    assert list(report.refused.values()) == ["caf\u00e9.md exists twice, its name in two Unicode forms."]


def test_a_missing_folder_is_told(space, ada, tmp_path):
    with pytest.raises(workspace.FolderError, match="There is no folder"):
        workspace.import_folder(tmp_path / "nowhere", space, ada)


def test_an_export_goes_into_a_new_or_empty_folder_only(space, tmp_path):
    (tmp_path / "file").write_text("x")
    for taken in (tmp_path, tmp_path / "file"):
        with pytest.raises(workspace.FolderError, match="is not an empty folder"):
            workspace.export_folder(taken, space)
    workspace.export_folder(tmp_path / "new", space)
    assert (tmp_path / "new").is_dir()


def test_only_the_persons_own_memory_is_given_out(space, strangers_space, append, tmp_path):
    append(space, "mine")
    append(strangers_space, "theirs", path="theirs.md")
    assert workspace.export_folder(tmp_path / "out", space).written == ["MEMORY.md"]
