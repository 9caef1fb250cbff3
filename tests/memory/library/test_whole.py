"""What surrounds the files of a library: the command, forgetting, invariants, and files without a row."""

import json
import os

import pytest
from django.core.management import call_command

from memory.forgetting.plan import plan
from memory.library import checks, reading, storage
from memory.library import files as library
from memory.models import FileChunk, FileIndex, FileVersion
from oneclaw.invariants import violations_by_query
from oneclaw.models import Space, SpaceMember
from tests import files


@pytest.fixture
def put(ada, space):
    def put(name, data):
        version = library.add(space, ada, name, data)
        reading.run(version.pk)
        return version

    return put


def broken():
    found = [*violations_by_query(checks.INDEXES)(), *violations_by_query(checks.NEWEST_READ)()]
    return [*found, *checks.find_missing_files()]


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
    sentences = "\n".join(broken())
    assert "version 2 of file" in sentences
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
