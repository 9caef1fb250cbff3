"""A person's memory as a zip file."""

import io
import zipfile

from chat.models import Agent
from memory.access.rights import agent_space
from memory.documents import write
from memory.documents.write import Author, Delete, Replace, Source
from memory.transfer import workspace
from memory.transfer.archive import read_archive as opening
from oneclaw.models import Space


def archive(client):
    answer = client.get("/memory/export.zip")
    assert answer["Content-Type"] == "application/zip"
    assert answer["Content-Disposition"].startswith('attachment; filename="memory-')
    return zipfile.ZipFile(io.BytesIO(answer.content))


def test_every_document_stands_in_it_byte_for_byte(client, ada, space, append):
    content = "\ufeff🍵\r\nlone\rno end"
    write.apply(space, "notes/Tee für mich.md", Replace(content, 0), Author(Source.PAGE))
    append(space, "gone", path="gone.md")
    write.apply(space, "gone.md", Delete(1), Author(Source.PAGE))
    client.force_login(ada)
    found = archive(client)
    assert found.namelist() == ["notes/Tee für mich.md"]
    assert found.read("notes/Tee für mich.md") == content.encode()


def test_an_unpacked_one_can_be_imported_again(client, ada, stranger, space, append, tmp_path):
    append(space, "- tea")
    append(space, "- notes", path="memory/2026-11-21.md")
    client.force_login(ada)
    archive(client).extractall(tmp_path / "unpacked")
    theirs = Space.objects.own_of(stranger)
    report = workspace.import_folder(tmp_path / "unpacked", theirs, stranger)
    assert sorted(report.written) == ["MEMORY.md", "memory/2026-11-21.md"]
    assert theirs.documents.get(path="MEMORY.md").content == "- tea\n"


def test_what_agents_remember_apart_stands_in_files_of_the_same_kind(client, ada, stranger, space, append):
    append(space, "- tea")
    named = [("Diary", True), ("diary", True), ("a/b: c", True), ("Empty", False)]
    for number, (name, is_used) in enumerate(named):
        agent = Agent.objects.create(slug=f"a{number}", name=name, own_memory=True)
        for person in (ada, stranger):
            its = agent_space(agent, person)
            if is_used:
                append(its, f"- {number} of {person.pk}")
    client.force_login(ada)
    found = archive(client)
    assert found.namelist() == ["MEMORY.md", "agents/Diary.zip", "agents/diary (2).zip", "agents/a_b_ c.zip"]
    with zipfile.ZipFile(io.BytesIO(found.read("agents/diary (2).zip"))) as its:
        assert its.read("MEMORY.md").decode() == f"- 1 of {ada.pk}\n"
    # Importing all of it mixes nothing: an agent's file is taken by itself.
    opened = opening(client.get("/memory/export.zip").content)
    assert (list(opened.texts), len(opened.skipped)) == (["MEMORY.md"], 3)


def test_it_holds_nothing_of_anybody_else(client, ada, space, strangers_space, append):
    append(strangers_space, "theirs")
    assert client.get("/memory/export.zip").status_code == 302
    client.force_login(ada)
    assert archive(client).namelist() == []
