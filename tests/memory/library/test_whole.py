"""What surrounds the files of a library: the command, forgetting, invariants, and files without a row."""

import json
import os

import pytest
from django.core.management import CommandError, call_command

from memory.forgetting.plan import plan
from memory.library import checks, reading, storage
from memory.library import files as library
from memory.models import FileChunk, FileIndex, FileVector, FileVersion
from memory.transfer.library import path_of
from oneclaw.audit import holds
from oneclaw.invariants import violations_by_query
from oneclaw.models import Space, SpaceMember
from oneclaw.spaces import deletion, lifecycle
from tests import files


@pytest.fixture
def put(ada, space):
    def put(name, data):
        version = library.add(space, ada, name, data)
        reading.run(version.pk)
        return version

    return put


def broken():
    queries = (checks.INDEXES, checks.NEWEST_READ, checks.LEFT_VECTORS)
    found = [violation for query in queries for violation in violations_by_query(query)()]
    return [*found, *checks.find_missing_files(), *checks.find_left_files()]


def test_a_folder_is_added_by_the_command(ada, space, tmp_path, capsys):
    (tmp_path / "2026").mkdir()
    (tmp_path / "2026" / "plan.md").write_text("The ferry leaves from Lindau.")
    (tmp_path / "broken.pdf").write_bytes(b"%PDF-1.4")
    (tmp_path / "photo.png").write_bytes(files.image())
    (tmp_path / ".hidden").write_text("x")
    call_command("library", "add", str(tmp_path), user=ada.email, wait=True, json=True)
    listed = json.loads(capsys.readouterr().out)
    assert [(row["name"], row["state"], row["reason"]) for row in listed] == [
        ("2026 · plan.md", "ready", ""),
        ("broken.pdf", "failed", "It is damaged."),
        ("photo.png", "refused", "“photo.png” is an image: the library reads texts."),
    ]
    call_command("library", "list", user=ada.email)
    assert "ready    2026 · plan.md\n" in capsys.readouterr().out


def test_a_folder_that_was_added_is_exported_again_byte_for_byte(ada, stranger, tmp_path, capsys):
    source, out = tmp_path / "in", tmp_path / "out"
    (source / "2026" / "May").mkdir(parents=True)
    (source / "2026" / "May" / "plan.md").write_bytes(b"Tea\r\n\xc3\xa4")
    (source / "broken.pdf").write_bytes(b"%PDF-1.4")
    call_command("library", "add", str(source), user=ada.email)
    call_command("library", "export", str(out), user=stranger.email)
    assert list(out.iterdir()) == []
    call_command("library", "export", str(out), user=ada.email)
    inside = {str(each.relative_to(out)): each.read_bytes() for each in out.rglob("*") if each.is_file()}
    assert inside == {"2026/May/plan.md": b"Tea\r\n\xc3\xa4", "broken.pdf": b"%PDF-1.4"}
    with pytest.raises(CommandError, match="is not an empty folder"):
        call_command("library", "export", str(out), user=ada.email)


@pytest.mark.parametrize(
    ("name", "path"), [("a · b.md", "a/b.md"), ("a · .. · b.md", "a · .. · b.md"), (".. · b.md", " · b.md")]
)
def test_no_name_leads_out_of_the_folder(name, path):
    assert path_of(name) == path


def test_nothing_is_removed_while_a_legal_hold_keeps_it(put, ada, space, client):
    version = put("plan.md", b"The ferry leaves from Lindau.")
    holds.hold(None, "A case", person=ada)
    client.force_login(ada)
    page = client.post(f"/memory/documents/{version.file_id}/remove", follow=True).content.decode()
    assert "an administrator has ordered that it is kept" in page
    assert FileVersion.objects.exists()


def test_a_deleted_space_leaves_nothing_of_its_library(ada, django_capture_on_commit_callbacks):
    team = lifecycle.create(ada, lifecycle.checked_draft("Team Tea"))
    version = library.add(team, ada, "plan.md", b"The ferry leaves from Lindau.")
    reading.run(version.pk)
    planned = deletion.plan(team)
    assert "1 file of its library, with all versions" in [str(reason) for reason in planned.reasons]
    with django_capture_on_commit_callbacks(execute=True):
        deletion.delete(team, ada, planned.digest)
    assert not FileVector.objects.exists()
    assert not storage.folder(version.file.space_id).exists()


def test_forgetting_names_the_files_that_contain_the_line(put, space):
    put("plan.md", b"# Trip\n\n- The ferry leaves from Lindau.\n")
    put("other.md", b"Oolong costs nine francs.")
    put("plan.md", b"# Trip\n\nNothing is decided.\n")
    # An earlier version counts, because it can be downloaded.
    assert [file.name for file in plan(space, ["The ferry leaves from Lindau."]).library] == ["plan.md"]


def test_the_invariants_hold_and_see_what_breaks_them(put, space):
    version = put("plan.md", b"The ferry leaves from Lindau.")
    put("plan.md", b"The ferry leaves from Bregenz.")
    library.add(space, space.owner, "plan.md", b"It does not leave.")
    assert broken() == []
    FileChunk.objects.all().delete()
    assert "units, and 0 chunks" in broken()[0]
    FileIndex.objects.all().delete()
    storage.remove(space.pk, str(version.pk))
    storage.write(space.pk, "left", b"x")
    os.utime(storage.folder(space.pk) / "left", (0, 0))
    sentences = "\n".join(broken())
    assert "version 2 of file" in sentences
    assert f"space {space.pk} has 1 vectors of texts that no file has" in sentences
    assert f"the file left of space {space.pk} has no version" in sentences
    assert f"version {version.pk} has 29 bytes, but its file has None" in sentences


def test_files_without_a_row_are_swept_and_others_stay(put, space):
    version = put("plan.md", b"Tea")
    storage.write(space.pk, "left", b"x")
    for name in ("left", str(version.pk)):
        os.utime(storage.folder(space.pk) / name, (0, 0))
    assert library.sweep() == 1
    assert [file.name for file in storage.folder(space.pk).iterdir()] == [str(version.pk)]


def test_a_closed_account_takes_its_library_along_and_leaves_that_of_a_team(put, ada, stranger):
    put("plan.md", b"The ferry leaves from Lindau.")
    team = Space.objects.create(kind="team", name="Team Tea", owner=stranger)
    SpaceMember.objects.create(space=team, user=ada, role="editor")
    library.add(team, ada, "shared.md", b"Oolong costs nine francs.")
    ada.delete()
    (version,) = FileVersion.objects.all()
    assert (version.file.name, version.owner) == ("shared.md", None)
    assert not FileChunk.objects.exists()
