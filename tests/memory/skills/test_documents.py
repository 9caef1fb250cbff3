"""The files of a skill are documents: with a folder on the disk, an export, a history, and a forgetting."""

import io
import json
import os
import time
import zipfile

import pytest
from django.core.management import CommandError, call_command

from chat.context.prompt import build_request
from chat.models import Message
from memory.files.folders import folder_of
from memory.files.scan import scan_folder
from memory.forgetting import forget
from memory.models import MemoryDocument
from memory.skills.catalogue import find_skill
from memory.transfer import archive, imports, workspace
from oneclaw.models import Space
from tests.conversations import send, settle
from tests.skills import FILES, approved, own_skill, packed, put, skill_text, state_of, unapproved_skill


def write_file(space, path, text):
    """Write a file as a person does, some seconds ago."""
    file = folder_of(space) / "skills" / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    os.utime(file, (time.time() - 10,) * 2)
    return file


def test_a_skill_that_is_put_into_the_folder_is_read_and_waits(ada, space):
    write_file(space, "release-notes/SKILL.md", skill_text())
    write_file(space, "release-notes/scripts/run.py", "print(1)")
    write_file(space, "release-notes/logo.png", "x")
    scan_folder(space)
    skill = find_skill(ada, "own", "release-notes")
    assert [file.path for file in skill.files] == ["SKILL.md", "scripts/run.py"]
    assert state_of(ada, skill) == "waiting"


def test_a_change_of_a_script_in_the_folder_takes_the_approval_back(ada, space, django_capture_on_commit_callbacks):
    with django_capture_on_commit_callbacks(execute=True):
        own_skill(ada)
        put(space, "release-notes/scripts/run.py", "print(1)")
        skill = approved(ada, find_skill(ada, "own", "release-notes"))
    file = folder_of(space) / "skills/release-notes/scripts/run.py"
    assert file.read_text() == "print(1)"
    assert state_of(ada, skill) == "used"
    write_file(space, "release-notes/scripts/run.py", "print('evil')")
    scan_folder(space)
    assert state_of(ada, skill) == "changed"


def test_skills_are_in_the_export_and_wait_after_its_import(ada, stranger, tmp_path):
    own_skill(ada)
    put(Space.objects.own_of(ada), "release-notes/run.py", "print(1)")
    data = archive.export_archive(ada)
    assert "skills/release-notes/run.py" in zipfile.ZipFile(io.BytesIO(data)).namelist()
    plan = imports.upload(stranger, "memory.zip", data)
    imports.confirm(stranger, plan.upload.token, plan.digest)
    skill = find_skill(stranger, "own", "release-notes")
    assert [file.path for file in skill.files] == ["SKILL.md", "run.py"]
    assert state_of(stranger, skill) == "waiting"
    workspace.export_folder(tmp_path / "out", Space.objects.own_of(ada))
    assert (tmp_path / "out/skills/release-notes/run.py").read_text() == "print(1)"


def test_a_forgotten_line_leaves_the_skill_and_what_was_sent_of_it(ada, space, django_capture_on_commit_callbacks):
    line = "My sister Zorabella lives in Lisbon near the old harbour."
    own_skill(ada, description=line, body=f"Steps.\n{line}")
    accepted = send(ada, "$release-notes")
    build_request(accepted.turn)
    settle(accepted)
    session = accepted.turn.session
    use = {"type": "tool_use", "id": "toolu_1", "name": "skill_read", "input": {"name": "release-notes"}}
    result = {"type": "tool_result", "tool_use_id": "toolu_1", "content": f"<skill>\n{line}\n</skill>"}
    for seq, role, block in ((3, "assistant", use), (4, "tool", result)):
        Message.objects.create(session=session, seq=seq, role=role, content=[block], status="complete")
    with django_capture_on_commit_callbacks(execute=True):
        forget.forget(space, [line], ada)
    assert "Zorabella" not in MemoryDocument.objects.get().content
    assert "Zorabella" not in str(list(session.messages.values_list("meta", "content")))
    assert "Zorabella" not in str(list(session.heads.values_list("system", "context")))


def memory(*arguments):
    output = io.StringIO()
    call_command("memory", *map(str, arguments), stdout=output, stderr=io.StringIO())
    return output.getvalue()


def test_the_command_lists_skills_and_imports_them(ada, tmp_path):
    (tmp_path / "skills.zip").write_bytes(packed(FILES))
    [row] = json.loads(memory("skills", tmp_path / "skills.zip", "--user", ada.email, "--json"))
    assert (row["name"], row["source"], row["state"]) == ("release-notes", "own", "waiting")
    with pytest.raises(CommandError, match="There is already a skill"):
        memory("skills", tmp_path / "skills.zip", "--user", ada.email)
    assert "release-notes (own): waiting" in memory("skills", tmp_path / "skills.zip", "--user", ada.email, "--replace")
    unapproved_skill(ada, "wrong", description="x" * 1025)
    with pytest.raises(CommandError, match="1 skills cannot be used: wrong"):
        memory("skills", "--user", ada.email)
