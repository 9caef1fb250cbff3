"""The library over the HTTP API: added, listed with states, read, searched and removed; a stranger sees nothing."""

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

from memory.library import reading
from memory.models import FileVersion, LibraryFile
from oneclaw.models import Space, SpaceMember
from tests.programs import Program, refusal


@pytest.fixture
def program(ada):
    return Program(ada)


def upload(program, name, data, space=None):
    query = f"?space={space.pk}" if space else ""
    headers = {"Authorization": f"Bearer {program.token}"}
    return program.client.post(
        f"/api/v1/library/files{query}", {"file": SimpleUploadedFile(name, data)}, headers=headers
    )


def test_a_program_adds_a_file_and_finds_it_when_it_is_read(program):
    made = upload(program, "plan.md", b"# Travel\n\nThe ferry leaves from Lindau.").json()
    (version,) = made["versions"]
    assert (made["name"], version["number"], version["state"], version["reason"]) == ("plan.md", 1, "waiting", None)
    reading.run(FileVersion.objects.get().pk)
    assert program.get("/library/files").json()["items"][0]["versions"][0]["state"] == "ready"
    (hit,) = program.get("/library/search", q="Where does the ferry leave from?", limit=1).json()
    assert (hit["file"], hit["start_line"], hit["text"]) == (made["id"], 3, "The ferry leaves from Lindau.")
    assert program.get(f"/library/files/{made['id']}/text").json()["total_lines"] == 3
    sent = program.get(f"/library/files/{made['id']}/content")
    assert (sent.content, sent["Content-Type"]) == (
        b"# Travel\n\nThe ferry leaves from Lindau.",
        "application/octet-stream",
    )
    assert program.delete(f"/library/files/{made['id']}").status_code == 204
    assert program.get("/library/files").json()["items"] == []


def test_a_refused_and_a_broken_file_say_why(program):
    assert refusal(upload(program, "empty.md", b"")) == (422, "empty")
    made = upload(program, "broken.pdf", b"%PDF-1.4 broken").json()
    reading.run(FileVersion.objects.get().pk)
    (version,) = program.get(f"/library/files/{made['id']}").json()["versions"]
    assert (version["state"], version["reason"]) == ("failed", "It is damaged.")


def test_a_stranger_sees_nothing_and_a_reader_changes_nothing(program, ada, stranger):
    team = Space.objects.create(kind="team", name="Team Tea", owner=ada)
    SpaceMember.objects.create(space=team, user=ada, role="owner")
    file = upload(program, "plan.md", b"The ferry leaves from Lindau.", team).json()["id"]
    reading.run(FileVersion.objects.get().pk)
    other = Program(stranger)
    every = [
        other.get(f"/library/files/{file}"),
        other.get(f"/library/files/{file}/content"),
        other.get(f"/library/files/{file}/text"),
        other.delete(f"/library/files/{file}"),
        other.get("/library/files", space=team.pk),
        other.get("/library/search", q="ferry", space=team.pk),
        upload(other, "mine.md", b"Tea", team),
    ]
    assert {refusal(response) for response in every} == {(404, "not_found")}
    assert other.get("/library/search", q="Where does the ferry leave from?").json() == []
    SpaceMember.objects.create(space=team, user=stranger, role="reader")
    assert other.get(f"/library/files/{file}").status_code == 200
    assert refusal(other.delete(f"/library/files/{file}")) == (403, "read_only")
    assert refusal(upload(other, "mine.md", b"Tea", team)) == (403, "read_only")
    assert LibraryFile.objects.count() == 1
