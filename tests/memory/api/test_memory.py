"""Memory over the API: read, searched and changed by the permissions of the page, through the one write path."""

import uuid

import pytest

from memory.documents import write as documents
from memory.documents.write import Append, Author, Delete, Source
from memory.forgetting import forget, plan
from memory.index.documents import index_document
from memory.models import MemoryDocument, MemoryRevision
from memory.policy import switches
from oneclaw.models import Space, SpaceMember
from oneclaw.reasons import Reason
from oneclaw.web.pagination import encode_cursor
from tests.programs import refusal

MEMORY = "/memory/documents/MEMORY.md"


@pytest.fixture
def space(ada):
    return Space.objects.own_of(ada)


@pytest.fixture
def team(stranger, ada):
    """A space of somebody else's that Ada may read."""
    team = Space.objects.create(owner=stranger, kind=Space.Kind.TEAM, name="Team")
    team.members.create(user=stranger, role="owner")
    team.members.create(user=ada, role="reader")
    return team


def write(space, text="- tea\n", path="MEMORY.md"):
    revision = documents.apply(space, path, Append(text), Author(Source.PAGE, space.owner))
    index_document(revision.document_id)
    return revision.document


def test_spaces_say_whose_they_are_and_who_may_write(adas, strangers, space, team):
    told = [(each["id"], each["kind"], each["may_write"]) for each in adas.get("/memory/spaces").json()]
    assert told == [(space.pk, "own", True), (team.pk, "team", False)]
    assert space.pk not in [each["id"] for each in strangers.get("/memory/spaces").json()]


def test_documents_are_listed_by_path_page_by_page(adas, space, team):
    for path in ("memory/2026-11-21.md", "MEMORY.md", "AGENTS.md"):
        write(space, path=path)
    write(team, path="TEAM.md")
    gone = write(space, path="GONE.md")
    documents.apply(space, "GONE.md", Delete(gone.version), Author(Source.PAGE))
    first = adas.get("/memory/documents", limit=2).json()
    second = adas.get("/memory/documents", limit=2, cursor=first["next"]).json()
    assert {each["path"] for each in first["items"] + second["items"]} == {
        "AGENTS.md",
        "MEMORY.md",
        "memory/2026-11-21.md",
    }
    assert second["next"] is None
    assert [each["path"] for each in adas.get("/memory/documents", space=team.pk).json()["items"]] == ["TEAM.md"]


def test_a_document_is_read_with_its_version(adas, space):
    write(space, "- tea\n", "memory/2026-11-21.md")
    told = adas.get("/memory/documents/memory/2026-11-21.md").json()
    assert (told["text"], told["version"], told["space"]) == ("- tea\n", 1, space.pk)


def test_a_document_is_written_from_the_version_that_was_read(adas, ada, space):
    told = adas.put(MEMORY, text="- tea\n", base_version=0).json()
    assert (told["text"], told["version"]) == ("- tea\n", 1)
    write(space, "- coffee\n")
    # Said again because its answer was lost.
    assert adas.put(MEMORY, text="- coffee\n", base_version=1).json()["version"] == 2
    refused = adas.put(MEMORY, text="- cocoa\n", base_version=1)
    assert refusal(refused) == (409, "conflict")
    assert refused.json()["version"] == 2
    assert refusal(adas.put(MEMORY, text="- cocoa\n", base_version=0)) == (409, "conflict")
    assert adas.put(MEMORY, text="- cocoa\n", base_version=2).json()["version"] == 3
    newest = MemoryRevision.objects.order_by("-number").first()
    assert (newest.source, newest.author, newest.reason) == ("api", ada, Reason("change.api_written"))
    # What is so already is no change.
    assert adas.put(MEMORY, text="- cocoa\n", base_version=3).json()["version"] == 3


def test_text_is_added_once(adas, space, team):
    write(space, "- tea")
    client_id = str(uuid.uuid4())
    for _ in range(2):
        told = adas.post(MEMORY, text="- coffee", client_id=client_id).json()
        assert (told["text"], told["version"]) == ("- tea\n- coffee\n", 2)
    assert refusal(adas.post(MEMORY, text="- cocoa", client_id=client_id)) == (409, "conflict")
    elsewhere = adas.post("/memory/documents/AGENTS.md", text="- coffee", client_id=client_id)
    assert refusal(elsewhere) == (409, "conflict")
    assert refusal(adas.post(f"{MEMORY}?space={team.pk}", text="- coffee", client_id=client_id)) == (409, "conflict")
    assert adas.post(MEMORY, text="- coffee").json()["version"] == 3


@pytest.mark.parametrize(
    ("path", "text", "status", "code"),
    [
        ("MEMORY.txt", "x", 422, "bad_path"),
        ("../MEMORY.md", "x", 422, "bad_path"),
        (".hidden.md", "x", 422, "bad_path"),
        ("MEMORY.md", "\0", 422, "bad_text"),
        ("MEMORY.md", "x" * (1024 * 1024 + 1), 413, "too_large"),
    ],
)
def test_what_memory_cannot_hold_is_refused_in_its_words(adas, path, text, status, code):
    for answer in (
        adas.put(f"/memory/documents/{path}", text=text, base_version=0),
        adas.post(f"/memory/documents/{path}", text=text),
    ):
        assert refusal(answer) == (status, code)
    assert not MemoryDocument.objects.exists()
    forged = encode_cursor("\0.md")
    assert refusal(adas.get("/memory/documents", cursor=forged)) == (422, "invalid")


def test_a_program_that_adds_to_memory_md_takes_memory_in_small_letters_over(adas, space):
    write(space, "- tea\n", path="memory.md")
    assert adas.post(MEMORY, text="- cake\n").json()["text"] == "- tea\n- cake\n"
    assert not space.documents.present().filter(path="memory.md").exists()


def test_what_was_forgotten_does_not_come_back(adas, ada, space):
    write(space, "- tea\n- The number of my account is 4711 0815\n")
    forget.forget(space, plan.lines_with(space, "4711 0815"), ada)
    told = adas.put(MEMORY, text="- tea\n- The number of my account is 4711 0815\n- cake\n", base_version=2).json()
    assert told["text"] == "- tea\n- cake\n"


def test_every_change_is_told_the_newest_first(adas, space):
    write(space, "- tea\n")
    adas.post(MEMORY, text="- coffee")
    first = adas.get(f"{MEMORY}/revisions", limit=1).json()
    (newest,) = first["items"]
    assert (newest["number"], newest["kind"], newest["source"], newest["author"]) == (
        2,
        "append",
        "api",
        "ada@example.org",
    )
    assert "- coffee" in newest["changes"][0]["added"]
    second = adas.get(f"{MEMORY}/revisions", limit=1, cursor=first["next"]).json()
    assert ([each["source"] for each in second["items"]], second["next"]) == (["page"], None)


def test_search_finds_lines_of_what_is_switched_on(adas, ada, space, team):
    write(space, "- Ada drinks green tea in Lisbon.\n")
    write(team, "- The team drinks green tea on Fridays.\n", "TEAM.md")
    found = adas.get("/memory/search", q="green tea").json()
    assert {(each["path"], each["space"]) for each in found} == {("MEMORY.md", space.pk), ("TEAM.md", team.pk)}
    mine = next(each for each in found if each["space"] == space.pk)
    assert (mine["text"], mine["start_line"], mine["said"]) == ("- Ada drinks green tea in Lisbon.", 1, None)
    assert [each["path"] for each in adas.get("/memory/search", q="green tea", space=team.pk).json()] == ["TEAM.md"]
    assert adas.get("/memory/search", q=" ").json() == []
    assert refusal(adas.get("/memory/search")) == (422, "invalid")
    switches.choose(ada, switches.Switch.SAVED, False)
    assert adas.get("/memory/search", q="green tea").json() == []


def test_who_may_only_read_is_told_so(adas, team):
    write(team, path="TEAM.md")
    path = f"/memory/documents/TEAM.md?space={team.pk}"
    assert adas.get(path).json()["text"] == "- tea\n"
    assert refusal(adas.put(path, text="- mine\n", base_version=1)) == (403, "read_only")
    assert refusal(adas.post(path, text="- mine")) == (403, "read_only")
    SpaceMember.objects.filter(space=team, user=adas.user).update(role="editor")
    assert adas.post(path, text="- ours").json()["version"] == 2


def test_a_deleted_document_is_not_there(adas, space):
    document = write(space)
    documents.apply(space, "MEMORY.md", Delete(document.version), Author(Source.PAGE))
    for path in (MEMORY, f"{MEMORY}/revisions"):
        assert refusal(adas.get(path)) == (404, "not_found")
    assert adas.put(MEMORY, text="- anew\n", base_version=0).json()["version"] == 3


def test_nothing_of_another_person_is_there(strangers, space):
    write(space, "- A secret about green tea.\n")
    nobodys = space.pk + 1_000_000
    for method, path, body in (
        ("get", "/memory/documents", None),
        ("get", MEMORY, None),
        ("get", f"{MEMORY}/revisions", None),
        ("put", MEMORY, {"text": "mine", "base_version": 1}),
        ("post", MEMORY, {"text": "mine"}),
        ("post", MEMORY, {"text": "mine", "client_id": str(uuid.uuid4())}),
        ("get", "/memory/search?q=tea", None),
    ):
        mark = "&" if "?" in path else "?"
        theirs, none = (strangers.send(method, f"{path}{mark}space={pk}", body) for pk in (space.pk, nobodys))
        assert refusal(theirs) == refusal(none) == (404, "not_found"), (method, path)
        assert theirs.content == none.content
    assert refusal(strangers.get(MEMORY)) == (404, "not_found")
    assert strangers.get("/memory/search", q="secret green tea").json() == []
    assert MemoryDocument.objects.get().content == "- A secret about green tea.\n"
