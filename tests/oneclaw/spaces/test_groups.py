"""The pages of groups: for administrators only, and what single sign-on keeps is changed there."""

import pytest

from oneclaw.models import AuditEvent, AuditKind, Budget, Group, Space, User
from oneclaw.people import roles


def test_an_administrator_makes_fills_renames_and_deletes_a_group(client, admin_person, stranger):
    # Signed in just now, so that rights may be changed.
    client.post("/accounts/login/", {"login": admin_person.email, "password": "correct horse battery"})
    made = client.post("/groups/", {"name": " Night  shift "})
    group = Group.objects.get()
    assert (group.name, made.url) == ("Night shift", f"/groups/{group.pk}")
    assert client.post("/groups/", {"name": "Night shift"}).status_code == 422
    unknown = client.post(made.url, {"do": "add", "email": "new@example.org"})
    assert "Invite them first." in unknown.content.decode()
    client.post(made.url, {"do": "add", "email": stranger.email})
    client.post(made.url, {"do": "add", "email": stranger.email})
    member = group.members.get()
    assert stranger.email in client.get(made.url).content.decode()
    client.post(made.url, {"do": "remove", "member": member.pk})
    assert not group.members.exists()
    client.post(made.url, {"do": "rename", "name": "Day shift"})
    assert "Day shift" in client.get("/groups/").content.decode()
    Budget.objects.create(group=group, period="month", max_cost=20, max_tokens=1000)
    page = client.get(made.url).content.decode()
    assert "Its budgets are deleted, too: Month, 20.00 US dollars, 1,000 tokens." in page
    assert client.post(made.url, {"do": "delete"}).url == "/groups/"
    assert not Group.objects.exists()
    of_group = AuditEvent.objects.filter(details__group=group.pk).order_by("pk")
    changes = [{"made": True}, {"joined": 1}, {"left": 1}, {"renamed": True}, {"deleted": True}]
    events = of_group.filter(kind=AuditKind.GROUP_CHANGED)
    assert [{**event.details} for event in events] == [{"group": group.pk, **change} for change in changes]
    assert {event.actor for event in of_group} == {admin_person.pk}
    assert [event.person for event in events] == [None, stranger.pk, stranger.pk, None, None]
    budget = of_group.get(kind=AuditKind.SETTING_CHANGED).details
    assert (budget["dollars"], budget["tokens"], budget["deleted"]) == ("20.00", 1000, True)


def test_a_people_admin_does_not_add_themselves_to_the_spaces_of_a_group(ada, stranger, client):
    roles.set_role(ada, User.Role.PEOPLE)
    ada.email = "admin@example.org"
    ada.save()
    group = Group.objects.create(name="crew")
    Space.objects.create(owner=stranger, kind=Space.Kind.TEAM, name="Labs").groups.create(group=group, role="reader")
    client.post("/accounts/login/", {"login": ada.email, "password": "correct horse battery"})
    # For the database the dotless i is the same letter.
    for typed in (" ADMIN@EXAMPLE.ORG", "adm\N{LATIN SMALL LETTER DOTLESS I}n@example.org"):
        refused = client.post(f"/groups/{group.pk}", {"do": "add", "email": typed})
        assert "You cannot add yourself" in refused.content.decode()
    client.post(f"/groups/{group.pk}", {"do": "add", "email": stranger.email})
    assert group.members.get().user == stranger
    # Nor to a group without a space, which may be given one later.
    later = Group.objects.create(name="later")
    assert client.post(f"/groups/{later.pk}", {"do": "add", "email": ada.email}).status_code == 422
    assert not later.members.exists()


@pytest.mark.parametrize("do", ["add", "rename", "delete"])
def test_a_group_of_single_sign_on_is_shown_and_not_changed(client, admin_person, do):
    group = Group.objects.create(name="crew", managed_by="oidc", external_id="7")
    client.post("/accounts/login/", {"login": admin_person.email, "password": "correct horse battery"})
    assert "The group comes from single sign-on" in client.get(f"/groups/{group.pk}").content.decode()
    fields = {"do": do, "email": admin_person.email, "name": "mine"}
    assert client.post(f"/groups/{group.pk}", fields).status_code == 422
    assert (Group.objects.get().name, group.members.count()) == ("crew", 0)


def test_others_find_no_groups(client, ada):
    group = Group.objects.create(name="crew")
    client.force_login(ada)
    assert [client.get(path).status_code for path in ("/groups/", f"/groups/{group.pk}")] == [404, 404]
    assert client.post("/groups/", {"name": "mine"}).status_code == 404


def test_the_people_of_a_group_change_only_after_a_fresh_sign_in(client, admin_person, stranger):
    group = Group.objects.create(name="crew")
    client.force_login(admin_person)
    asked = client.post(f"/groups/{group.pk}", {"do": "add", "email": stranger.email})
    assert asked.url.startswith("/accounts/reauthenticate/")
    assert not group.members.exists()
    # What was sent is carried out then.
    client.post(asked.url, {"password": "correct horse battery"}, follow=True)
    assert group.members.get().user == stranger
