"""Proposals for the memory of a shared space, by programs."""

import pytest

from memory.models import MemoryDocument
from oneclaw.models import Space, SpaceMember
from tests.programs import Program


@pytest.fixture
def team(ada, stranger):
    space = Space.objects.create(owner=ada, kind=Space.Kind.TEAM, name="Team")
    for person, role in ((ada, "owner"), (stranger, "editor")):
        SpaceMember.objects.create(space=space, user=person, role=role)
    return space


def test_one_program_proposes_and_another_accepts(team, adas, strangers, admin_person):
    made = strangers.post(f"/spaces/{team.pk}/proposals", text="The oven is broken.").json()
    assert (made["state"], made["author"], made["kind"]) == ("waiting", "stranger@example.org", "api")
    address = f"/spaces/{team.pk}/proposals/{made['id']}"
    assert strangers.post(address, answer="accept").status_code == 403
    (listed,) = adas.get(f"/spaces/{team.pk}/proposals", state="waiting").json()["items"]
    assert listed["text"] == "The oven is broken."
    done = adas.post(address, answer="accept", text="The oven is broken until May.").json()
    assert (done["state"], done["decided_by"]) == ("accepted", "ada@example.org")
    assert MemoryDocument.objects.get(space=team).content == "- The oven is broken until May.\n"
    # The first answer counts.
    assert adas.post(address, answer="decline").json()["state"] == "accepted"
    (change,) = adas.get("/memory/documents/MEMORY.md/revisions", space=team.pk).json()["items"]
    assert (change["source"], change["author"], change["approved_by"]) == (
        "proposal",
        "stranger@example.org",
        "ada@example.org",
    )
    refused = strangers.post(f"/memory/documents/MEMORY.md?space={team.pk}", text="- Mine.")
    assert (refused.status_code, refused.json()["code"]) == (403, "second_person_needed")
    outsider = Program(admin_person)
    assert outsider.get(f"/spaces/{team.pk}/proposals").status_code == 404
    assert outsider.post(f"/spaces/{team.pk}/proposals", text="x").status_code == 404
    assert outsider.post(address, answer="decline").status_code == 404
