"""Somebody is in a space of others only after accepting, and no answer tells who has an account."""

import re

import pytest
from django.test import Client

from oneclaw.leaving import offboard
from oneclaw.models import Space, SpaceInvitation, SpaceMember, User
from oneclaw.people import space_invitations
from oneclaw.spaces import lifecycle, members
from tests.programs import Program

PASSWORD = "correct horse battery"


@pytest.fixture
def team(ada) -> Space:
    return lifecycle.create(ada, lifecycle.checked_draft("Engine room", kind="team"))


def client_of(person: User) -> Client:
    client = Client()
    client.force_login(person)
    return client


def add(space: Space, owner: User, email: str, role: str = "editor"):
    return client_of(owner).post(f"/spaces/{space.pk}/members/add", {"email": email, "role": role}, follow=True)


def test_who_is_added_by_address_is_in_the_space_after_accepting(ada, stranger, team):
    add(team, ada, f" {stranger.email.upper()}")
    assert not SpaceMember.objects.filter(user=stranger).exists()
    theirs = client_of(stranger)
    page = theirs.get("/spaces/").content.decode()
    assert "Engine room" in page
    assert "Accept or decline on the page Spaces" in page
    assert theirs.get(f"/spaces/{team.pk}/").status_code == 404
    invitation = SpaceInvitation.objects.get()
    theirs.post(f"/spaces/invitations/{invitation.pk}", {"do": "accept"})
    assert SpaceMember.objects.get(user=stranger).role == "editor"
    assert not SpaceInvitation.objects.exists()


def test_the_answer_is_the_same_with_and_without_an_account(ada, stranger, team):
    pages = []
    for email in (stranger.email, "nobodyxx@example.org"):
        page = add(team, ada, email).content.decode()
        assert email in page
        pages.append(re.sub(r"csrf\w*\W+value=\W\w+|invitations/\d+", "", page.replace(email, "them")))
        SpaceInvitation.objects.all().delete()
    assert pages[0] == pages[1]
    keyed = Program(ada)
    answers = [
        keyed.post(f"/spaces/{team.pk}/members", email=email) for email in (stranger.email, "nobody@example.org")
    ]
    assert [answer.status_code for answer in answers] == [200, 200]
    assert [answer.json()["members"] for answer in answers] == [[], []]
    assert not SpaceMember.objects.filter(user=stranger).exists()


def test_only_the_invited_person_accepts_and_declining_ends_it(ada, stranger, admin_person, team):
    invitation = space_invitations.invite(team, stranger.email, "reader", ada)
    for person in (ada, admin_person):
        for do in ("accept", "decline"):
            assert client_of(person).post(f"/spaces/invitations/{invitation.pk}", {"do": do}).status_code == 404
    client_of(stranger).post(f"/spaces/invitations/{invitation.pk}", {"do": "decline"})
    assert not SpaceInvitation.objects.exists()
    assert not SpaceMember.objects.filter(user=stranger).exists()


def test_an_account_that_is_made_later_with_the_address_gets_nothing(ada, team):
    invitation = space_invitations.invite(team, "later@example.org", "owner", ada)
    later = User.objects.create_user("later@example.org", PASSWORD)
    assert "Engine room" not in client_of(later).get("/spaces/").content.decode()
    assert client_of(later).post(f"/spaces/invitations/{invitation.pk}", {"do": "accept"}).status_code == 404


def test_an_invitation_ends_with_the_role_that_its_person_is_given_otherwise(ada, stranger, team):
    invitation = space_invitations.invite(team, stranger.email, "owner", ada)
    members.remove(members.add_by_email(team, stranger.email, "reader"), by=ada)
    assert client_of(stranger).post(f"/spaces/invitations/{invitation.pk}", {"do": "accept"}).status_code == 404
    assert not SpaceMember.objects.filter(user=stranger).exists()
    assert not SpaceInvitation.objects.exists()


def test_an_owner_withdraws_an_invitation_and_others_do_not(ada, stranger, admin_person, team):
    members.add_by_email(team, admin_person.email, "editor")
    invitation = space_invitations.invite(team, stranger.email, "reader", ada)
    address = f"/spaces/{team.pk}/invitations/{invitation.pk}/withdraw"
    assert client_of(admin_person).post(address).status_code in (403, 404)
    assert SpaceInvitation.objects.exists()
    client_of(ada).post(address)
    assert client_of(stranger).post(f"/spaces/invitations/{invitation.pk}", {"do": "accept"}).status_code == 404


def test_invitations_of_an_address_leave_with_its_account(ada, stranger, admin_person, team):
    User.objects.filter(pk=stranger.pk).update(email="Stranger@Example.org")
    space_invitations.invite(team, "stranger@example.org", "reader", ada)
    kept = space_invitations.invite(team, "other@example.org", "reader", ada)
    job = offboard.begin(User.objects.get(pk=stranger.pk), receiver=None, by=admin_person)
    assert offboard.run(job.pk)
    assert list(SpaceInvitation.objects.all()) == [kept]


def test_there_is_an_end_to_open_invitations(ada, team, monkeypatch):
    monkeypatch.setattr(space_invitations, "MAX_OPEN_COUNT", 1)
    space_invitations.invite(team, "one@example.org", "reader", ada)
    with pytest.raises(space_invitations.TooManyInvitationsError):
        space_invitations.invite(team, "two@example.org", "reader", ada)
    assert SpaceInvitation.objects.count() == 1
