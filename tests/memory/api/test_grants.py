"""A key for memory alone over the HTTP API: it reads what it may, what it adds waits, and nothing else opens."""

import uuid

import pytest
from django.test import Client

from memory.documents import write
from memory.documents.write import Append, Author, Source
from memory.models import MemoryDocument, Proposal, Suggestion
from memory.policy import switches
from memory.policy.switches import Switch
from oneclaw.models import Space, SpaceMember
from oneclaw.people import keys
from oneclaw.people.programs.grants import access_of
from tests.access.addresses import operations

MEMORY = "/api/v1/memory/documents/MEMORY.md"
# The operations that ask what a grant may.
OPEN = {
    "me",
    "memory_space_list",
    "document_list",
    "document",
    "revision_list",
    "append_to_document",
    "search",
}


@pytest.fixture
def kitchen(ada, stranger):
    space = Space.objects.create(owner=stranger, kind=Space.Kind.TEAM, name="Kitchen")
    SpaceMember.objects.create(space=space, user=stranger, role="owner")
    SpaceMember.objects.create(space=space, user=ada, role="editor")
    write.apply(space, "MEMORY.md", Append("- The oven is new.\n"), Author(Source.PAGE, stranger))
    return space


def program(person, own="", spaces=()):
    _, token = keys.make(person, "Agent", "year", access_of(own, dict(spaces), False))
    return Client(headers={"Authorization": f"Bearer {token}"})


@pytest.mark.django_db(transaction=True)
def test_no_other_operation_is_open(ada):
    asked = program(ada, "write")
    refused = set()
    for each in operations():
        ids = {name: uuid.uuid4() if "session" in name else 1 for name in each.parameters}
        url = each.url({"space": 1, "held_id": 1, "linked_id": 1, "question": 1, "folder": "x", **ids})
        answer = getattr(asked, each.method)(url, {} if each.method == "get" else "{}", content_type="application/json")
        if answer.status_code == 403 and answer.json()["code"] == "scope_needed":
            refused.add(each.name)
    assert {each.name for each in operations()} - refused <= OPEN
    assert refused


def test_a_grant_for_one_memory_reads_no_other(ada, kitchen):
    write.apply(Space.objects.own_of(ada), "MEMORY.md", Append("- Ada is tired.\n"), Author(Source.PAGE, ada))
    of_space, of_own = program(ada, "", {kitchen.pk: "read"}), program(ada, "read")
    assert [each["id"] for each in of_space.get("/api/v1/memory/spaces").json()] == [kitchen.pk]
    assert of_space.get(MEMORY).status_code == 404
    assert of_space.get(MEMORY, {"space": kitchen.pk}).json()["text"] == "- The oven is new.\n"
    assert of_own.get(MEMORY, {"space": kitchen.pk}).status_code == 404
    assert of_own.get(MEMORY).status_code == 200
    assert not of_space.get("/api/v1/memory/search", {"q": "Is Ada tired?"}).json()
    assert not of_own.get("/api/v1/memory/search", {"q": "Is the oven new?"}).json()
    assert of_own.get("/api/v1/memory/search", {"q": "x", "space": kitchen.pk}).status_code == 404


def test_what_it_adds_waits_for_a_yes(ada, kitchen):
    asked = program(ada, "propose", {kitchen.pk: "propose"})
    body = {"text": "Ada likes tea.", "client_id": str(uuid.uuid4())}
    for _ in range(2):
        answer = asked.post(MEMORY, body, content_type="application/json")
        assert (answer.status_code, answer.json()) == (202, {"state": "waiting", "masked": []})
    assert Suggestion.objects.get().kind == "program"
    answer = asked.post(f"{MEMORY}?space={kitchen.pk}", {"text": "The oven is hot."}, content_type="application/json")
    assert (answer.status_code, answer.json()["state"]) == (202, "proposed")
    assert "Agent" not in Proposal.objects.get().program
    assert "hot" not in MemoryDocument.objects.get(space=kitchen).content
    other = asked.post("/api/v1/memory/documents/notes.md", {"text": "x"}, content_type="application/json")
    assert (other.status_code, other.json()["code"]) == (403, "scope_needed")


def test_a_reading_key_adds_nothing_and_a_writing_one_does(ada):
    body = {"text": "Ada likes tea."}
    refused = program(ada, "read").post(MEMORY, body, content_type="application/json")
    assert (refused.status_code, 'scope="memory:propose"' in refused["WWW-Authenticate"]) == (403, True)
    answer = program(ada, "write").post(MEMORY, body, content_type="application/json")
    assert (answer.status_code, answer.json()["text"]) == (200, "- Ada likes tea.\n")


def test_a_limit_of_the_installation_counts_for_every_key(ada, settings):
    settings.PROGRAMS = "read"
    whole = Client(headers={"Authorization": f"Bearer {keys.make(ada, 'Old', 'never')[1]}"})
    assert whole.get("/api/v1/sessions").status_code == 403
    assert whole.get("/api/v1/memory/spaces").status_code == 200
    assert whole.post(MEMORY, {"text": "x"}, content_type="application/json").status_code == 403


def test_switches_hold_for_its_reads(ada, kitchen):
    write.apply(Space.objects.own_of(ada), "MEMORY.md", Append("- Ada is tired.\n"), Author(Source.PAGE, ada))
    asked = program(ada, "read")
    assert asked.get(MEMORY).status_code == 200
    switches.choose(ada, Switch.SAVED, False)
    assert asked.get(MEMORY).status_code == 404
    assert asked.get(f"{MEMORY}/revisions").status_code == 404
    assert asked.get("/api/v1/memory/documents").json()["items"] == []
