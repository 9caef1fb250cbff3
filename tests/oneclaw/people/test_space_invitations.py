"""Somebody is in a space of others only after accepting, and no answer tells who has an account."""

import re

import pytest
from django.test import Client
from django.utils import timezone

from oneclaw.leaving import offboard
from oneclaw.models import Group, Invitation, Space, SpaceInvitation, SpaceMember, User
from oneclaw.people import addresses, roles, space_invitations
from oneclaw.people.sign_in import inviting
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


def invited_by(actor: User, email: str, *, mailed: bool = False) -> Client:
    """Return a browser in which the person with `email` has made the account that `actor` invites them to."""
    invitation, link = inviting.invite(actor, inviting.Wish(email), 7)
    if mailed:
        Invitation.objects.filter(pk=invitation.pk).update(mailed_at=timezone.now())
    client = Client()
    fields = {"name": "Grace", "password1": PASSWORD, "password2": PASSWORD}
    assert client.post(re.sub(r"^https?://[^/]+", "", link), fields).status_code == 302
    return client


def test_who_was_invited_to_a_space_before_they_had_an_account_is_in_it_with_their_account(ada, admin_person, team):
    space_invitations.invite(team, "grace@example.org", "editor", ada)
    grace = invited_by(admin_person, "grace@example.org")
    assert grace.get(f"/spaces/{team.pk}/").status_code == 200
    assert SpaceMember.objects.get(user__email="grace@example.org").role == "editor"
    assert not SpaceInvitation.objects.exists()


def test_a_people_admin_gains_no_space_by_a_link_that_they_see(ada, stranger, team):
    roles.set_role(stranger, User.Role.PEOPLE)
    stranger.save()
    for email, mailed in (("shown@example.org", False), ("mailed@example.org", True)):
        space_invitations.invite(team, email, "reader", ada)
        client = invited_by(stranger, email, mailed=mailed)
        assert (client.get(f"/spaces/{team.pk}/").status_code == 200) == mailed
    # Of a space that they are in themselves they give what its owner has offered.
    members.add_by_email(team, stranger.email, "reader")
    space_invitations.invite(team, "own@example.org", "reader", ada)
    assert invited_by(stranger, "own@example.org").get(f"/spaces/{team.pk}/").status_code == 200


def test_a_link_that_was_seen_gives_at_most_the_role_of_who_made_it(ada, stranger, team):
    roles.set_role(stranger, User.Role.PEOPLE)
    stranger.save()
    members.add_by_email(team, stranger.email, "reader")
    space_invitations.invite(team, "boss@example.org", "owner", ada)
    invited_by(stranger, "boss@example.org")
    assert SpaceMember.objects.get(user__email="boss@example.org").role == "reader"


def test_who_takes_over_an_address_does_not_take_over_its_invitations(ada, stranger, team):
    space_invitations.invite(team, "boss@example.org", "editor", ada)
    former, stranger.email = stranger.email, "boss@example.org"
    stranger.save()
    addresses.after_change(stranger, former, by=ada)
    assert not SpaceInvitation.objects.visible_to(stranger).exists()
    # One that is made for the address as it is now counts, and is told.
    space_invitations.invite(team, "boss@example.org", "editor", ada)
    assert SpaceInvitation.objects.visible_to(stranger).exists()


def test_a_second_invitation_reaches_an_account_that_was_made_meanwhile(ada, team):
    space_invitations.invite(team, "grace@example.org", "editor", ada)
    grace = User.objects.create_user("grace@example.org", None)
    assert not SpaceInvitation.objects.visible_to(grace).exists()
    space_invitations.invite(team, "grace@example.org", "editor", ada)
    assert SpaceInvitation.objects.visible_to(grace).exists()
    assert "Accept or decline on the page Spaces" in client_of(grace).get("/spaces/").content.decode()


def test_a_link_that_is_renewed_is_no_longer_a_mailed_one(admin_person):
    invitation, _link = inviting.invite(admin_person, inviting.Wish("grace@example.org"), 7)
    Invitation.objects.filter(pk=invitation.pk).update(mailed_at=timezone.now())
    inviting.renew(admin_person, invitation.pk)
    assert Invitation.objects.get().mailed_at is None


def test_an_admin_sees_who_has_no_account_and_invites_them_there(ada, stranger, team):
    for email in (stranger.email, "new@example.org", "open@example.org"):
        space_invitations.invite(team, email, "reader", ada)
    assert "no account yet" not in client_of(ada).get(f"/spaces/{team.pk}/members").content.decode()
    roles.set_role(ada, User.Role.OWNER)
    ada.save()
    inviting.invite(ada, inviting.Wish("open@example.org"), 7)
    owners = Client()
    owners.post("/accounts/login/", {"login": ada.email, "password": PASSWORD})
    page = owners.get(f"/spaces/{team.pk}/members").content.decode()
    assert page.count("no account yet") == page.count("Invite to OneClaw") == 1
    assert page.count("joins with their account") == 1
    made = owners.post("/team/invitations/new", {"email": "new@example.org", "days": "7", "mailed": "on"})
    assert "The link for new@example.org" in made.content.decode()


def test_the_page_of_a_group_offers_to_invite_who_has_no_account(ada):
    roles.set_role(ada, User.Role.OWNER)
    ada.save()
    group = Group.objects.create(name="Research")
    owners = Client()
    owners.post("/accounts/login/", {"login": ada.email, "password": PASSWORD})
    page = owners.post(f"/groups/{group.pk}", {"do": "add", "email": "new@example.org"}).content.decode()
    assert "Invite and add" in page
    owners.post("/team/invitations/new", {"email": "new@example.org", "days": "7", "groups": group.pk})
    assert list(Invitation.objects.get().groups.all()) == [group]
