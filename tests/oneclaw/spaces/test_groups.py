"""The pages of groups: for administrators only, and what single sign-on keeps is changed there."""

import pytest

from oneclaw.models import Group


def test_an_administrator_makes_fills_renames_and_deletes_a_group(client, admin_person, stranger):
    # Signed in just now, so that rights may be changed.
    client.post("/accounts/login/", {"login": admin_person.email, "password": "correct horse battery"})
    made = client.post("/groups/", {"name": " Night  shift "})
    group = Group.objects.get()
    assert (group.name, made.url) == ("Night shift", f"/groups/{group.pk}")
    assert client.post("/groups/", {"name": "Night shift"}).status_code == 422
    unknown = client.post(made.url, {"do": "add", "email": "new@example.org"})
    assert "Ask an administrator to invite them first." in unknown.content.decode()
    client.post(made.url, {"do": "add", "email": stranger.email})
    client.post(made.url, {"do": "add", "email": stranger.email})
    member = group.members.get()
    assert stranger.email in client.get(made.url).content.decode()
    client.post(made.url, {"do": "remove", "member": member.pk})
    assert not group.members.exists()
    client.post(made.url, {"do": "rename", "name": "Day shift"})
    assert "Day shift" in client.get("/groups/").content.decode()
    assert client.post(made.url, {"do": "delete"}).url == "/groups/"
    assert not Group.objects.exists()


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
    client.post(asked.url, {"password": "correct horse battery"})
    assert group.members.get().user == stranger
