"""Spaces over the API: made, filled, left and deleted, and not there for others."""

import uuid

import pytest

from chat.conversations import transcript
from chat.conversations.model_choice import Choice, NoSuchSpaceError
from oneclaw.audit import holds
from oneclaw.models import Space, SpaceInvitation
from oneclaw.people import space_invitations
from oneclaw.spaces import members
from tests.programs import refusal


@pytest.fixture
def team(adas):
    return adas.post("/spaces", name="Engine room", kind="team").json()["id"]


def test_a_space_is_filled_handed_over_left_and_deleted(adas, strangers, ada, stranger, team):
    added = adas.post(f"/spaces/{team}/members", email=stranger.email, role="reader").json()
    assert (added["members"], added["invited"]) == ([], [stranger.email])
    assert refusal(strangers.get(f"/spaces/{team}")) == (404, "not_found")
    space_invitations.accept(stranger, SpaceInvitation.objects.get().pk)
    member = Space.objects.get(pk=team).members.get(user=stranger).pk
    assert strangers.get(f"/spaces/{team}").json()["role"] == "reader"
    assert refusal(adas.post(f"/spaces/{team}/leave")) == (409, "conflict")
    assert refusal(adas.post(f"/spaces/{team}/members", email=stranger.email)) == (409, "conflict")
    assert refusal(adas.post(f"/spaces/{team}/members", email="new")) == (422, "invalid")
    assert adas.patch(f"/spaces/{team}/members/{member}", role="editor").json()["role"] == "editor"
    adas.post(f"/spaces/{team}/members/{member}/hand-over")
    assert adas.post(f"/spaces/{team}/leave").status_code == 204
    assert refusal(adas.get(f"/spaces/{team}")) == (404, "not_found")
    plan = strangers.client.delete(f"/api/v1/spaces/{team}?dry_run=true").json()
    assert plan == {"deleted": False, "counts": {"members": 1}, "digest": plan["digest"]}
    assert refusal(strangers.client.delete(f"/api/v1/spaces/{team}?digest=x")) == (409, "conflict")
    assert strangers.client.delete(f"/api/v1/spaces/{team}?digest={plan['digest']}").json()["deleted"]
    assert not Space.objects.shared().exists()


def test_an_invitation_is_listed_accepted_and_declined_by_its_person_only(adas, strangers, ada, stranger, team):
    adas.post(f"/spaces/{team}/members", email=stranger.email, role="reader")
    (listed,) = strangers.get("/space-invitations").json()
    assert (listed["space"], listed["role"], listed["invited_by"]) == ("Engine room", "reader", str(ada))
    address = f"/space-invitations/{listed['id']}"
    assert adas.get("/space-invitations").json() == []
    assert refusal(adas.post(address)) == (404, "not_found")
    assert refusal(adas.delete(address)) == (404, "not_found")
    joined = strangers.post(address).json()
    assert (joined["id"], joined["role"]) == (team, "reader")
    assert refusal(strangers.post(address)) == (404, "not_found")
    members.leave(Space.objects.get(pk=team), stranger)
    adas.post(f"/spaces/{team}/members", email=stranger.email)
    (listed,) = strangers.get("/space-invitations").json()
    assert strangers.delete(f"/space-invitations/{listed['id']}").status_code == 204
    assert (strangers.get("/space-invitations").json(), strangers.get("/spaces").json()) == ([], [])


def test_a_space_under_a_legal_hold_is_not_deleted(adas, team):
    holds.hold(None, "A case", space=Space.objects.get(pk=team))
    assert refusal(adas.client.delete(f"/api/v1/spaces/{team}")) == (409, "held")
    assert Space.objects.filter(pk=team).exists()


def test_a_space_is_changed_by_its_owners_only(adas, strangers, stranger, team):
    members.add_by_email(Space.objects.get(pk=team), stranger.email, "editor")
    changed = adas.patch(f"/spaces/{team}", name="Bridge", archived=True).json()
    assert (changed["name"], changed["kind"], changed["archived"]) == ("Bridge", "team", True)
    assert [each["id"] for each in adas.get("/spaces", archived=True).json()] == [team]
    assert refusal(strangers.patch(f"/spaces/{team}", name="Mine")) == (403, "read_only")
    own = Space.objects.own_of(stranger).pk
    assert refusal(strangers.patch(f"/spaces/{own}", name="Mine")) == (404, "not_found")


def test_a_conversation_begins_in_a_space_and_is_moved(adas, strangers, ada, stranger, team):
    accepted = transcript.accept(ada, uuid.uuid4(), uuid.uuid4(), "Hello", choice=Choice(space=team))
    session = accepted.message.session
    assert (session.space_id, session.shared_at) == (team, None)
    assert adas.patch(f"/sessions/{session.pk}", space=0).json()["space"] is None
    assert adas.patch(f"/sessions/{session.pk}", space=team).json()["space"] == team
    assert refusal(adas.patch(f"/sessions/{session.pk}", space=team + 1)) == (404, "not_found")
    temporary = transcript.accept(ada, uuid.uuid4(), uuid.uuid4(), "Hello", mode="temporary", choice=Choice(space=team))
    assert temporary.message.session.space_id is None
    with pytest.raises(NoSuchSpaceError):
        transcript.accept(stranger, uuid.uuid4(), uuid.uuid4(), "Hello", choice=Choice(space=team))
    adas.patch(f"/spaces/{team}", archived=True)
    with pytest.raises(NoSuchSpaceError):
        transcript.accept(ada, uuid.uuid4(), uuid.uuid4(), "Hello", choice=Choice(space=team))
