"""SCIM: a directory keeps people and groups, and nothing else."""

import json

import pytest
from django.core import mail
from django.test import Client

from oneclaw.leaving import offboard
from oneclaw.models import ApiKey, AuditEvent, AuditKind, Budget, Group, GroupMember, Space, User
from oneclaw.people import keys, notices, roles

TOKEN = "a token of at least thirty-two characters"
USER, GROUP = "urn:ietf:params:scim:schemas:core:2.0:User", "urn:ietf:params:scim:schemas:core:2.0:Group"
PATCH = "urn:ietf:params:scim:api:messages:2.0:PatchOp"
GRACE = {"schemas": [USER], "userName": "Grace@Example.org", "externalId": "e1", "active": True}
GRACE |= {
    "name": {"givenName": "Grace", "familyName": "Hopper"},
    "emails": [{"value": "grace@example.org", "primary": True}],
}


@pytest.fixture
def call(db, settings):
    settings.SCIM_TOKEN = TOKEN

    def call(method, path, body=None, status=200):
        response = Client().generic(
            method,
            f"/scim/v2/{path}",
            json.dumps(body) if body is not None else "",
            content_type="application/scim+json",
            headers={"Authorization": f"Bearer {TOKEN}"},
        )
        assert response.status_code == status, response.content.decode()
        return json.loads(response.content) if response.content else None

    return call


def patch(op, path=None, value=None):
    operation = {"op": op, **({"path": path} if path else {}), **({"value": value} if value is not None else {})}
    return {"schemas": [PATCH], "Operations": [operation]}


def test_a_person_is_made_found_changed_and_disabled(call, ada):
    made = call("POST", "Users", GRACE, 201)
    grace = User.objects.get(email="grace@example.org")
    assert (made["id"], made["displayName"], grace.first_name) == (str(grace.pk), "Grace Hopper", "Grace Hopper")
    assert (grace.role, grace.has_usable_password()) == ("", False)
    call("POST", "Users", GRACE, 409)
    found = call("GET", 'Users?filter=userName eq "GRACE@example.org"')
    assert [each["id"] for each in found["Resources"]] == [made["id"]]
    assert call("GET", 'Users?filter=externalId eq "e1"')["totalResults"] == 1
    assert call("GET", "Users?count=1&startIndex=2")["totalResults"] == 2
    call("PATCH", f"Users/{grace.pk}", patch("Replace", "displayName", "Amazing Grace"))
    here = Client()
    here.force_login(grace)
    # As Entra sends it.
    call("PATCH", f"Users/{grace.pk}", patch("Replace", "active", False))
    grace.refresh_from_db()
    assert (grace.first_name, grace.is_active) == ("Amazing Grace", False)
    assert here.get("/settings/").status_code == 302
    call("PUT", f"Users/{grace.pk}", {**GRACE, "active": True})
    call("DELETE", f"Users/{grace.pk}", status=204)
    call("GET", f"Users/{grace.pk}", status=404)
    grace.refresh_from_db()
    assert not grace.is_active
    # Who comes back has the account of before.
    assert call("POST", "Users", GRACE, 201)["id"] == made["id"]


def test_a_person_is_told_of_an_address_that_the_directory_gives_them(
    call, ada, settings, django_capture_on_commit_callbacks
):
    settings.MAIL = True
    call("PATCH", f"Users/{ada.pk}", patch("replace", "displayName", "Ada"))
    assert (notices.sentences(User.objects.get(pk=ada.pk)), mail.outbox) == ([], [])
    with django_capture_on_commit_callbacks(execute=True):
        call("PATCH", f"Users/{ada.pk}", patch("replace", "userName", "Lovelace@example.org"))
    (notice,) = notices.sentences(User.objects.get(pk=ada.pk))
    assert "has changed the email address of your account from ada@example.org to lovelace@example.org" in notice
    assert [mailed.to for mailed in mail.outbox] == [["lovelace@example.org"], ["ada@example.org"]]


def test_the_directory_enables_only_whom_it_has_disabled_itself(call, ada, admin_person):
    adas = {"schemas": [USER], "userName": ada.email}

    def is_active():
        ada.refresh_from_db()
        return ada.is_active

    roles.set_active(admin_person, ada, False)
    assert call("GET", f'Users?filter=userName eq "{ada.email}"')["totalResults"] == 0
    assert "An administrator" in call("POST", "Users", adas, 409)["detail"]
    roles.set_active(admin_person, ada, True)
    # From here on the directory keeps the account; without `active` it changes nothing about that.
    call("PUT", f"Users/{ada.pk}", adas)
    assert is_active()
    roles.set_active(admin_person, ada, False)
    call("PUT", f"Users/{ada.pk}", adas)
    assert not is_active()
    call("DELETE", f"Users/{ada.pk}", status=204)
    call("POST", "Users", adas, 409)
    assert not is_active()


def test_the_directory_neither_overrides_an_admin_nor_ends_the_wait_for_approval_by_another_change(
    call, ada, admin_person
):
    adas = {"schemas": [USER], "userName": ada.email, "externalId": "a1"}
    call("PUT", f"Users/{ada.pk}", {**adas, "active": True})
    roles.set_active(admin_person, ada, False)
    for change in (patch("replace", "active", True), patch("replace", None, {"active": True})):
        assert "An administrator" in call("PATCH", f"Users/{ada.pk}", change, 403)["detail"]
    call("PUT", f"Users/{ada.pk}", {**adas, "active": True}, 403)
    call("PATCH", f"Users/{ada.pk}", patch("replace", "displayName", "Ada L."))
    ada.refresh_from_db()
    assert (ada.first_name, ada.is_active) == ("Ada L.", False)
    User.objects.filter(pk=ada.pk).update(awaits_approval=True)
    call("PATCH", f"Users/{ada.pk}", patch("replace", "displayName", "Ada"))
    ada.refresh_from_db()
    assert (ada.first_name, ada.is_active, ada.awaits_approval) == ("Ada", False, True)


@pytest.mark.parametrize("admin_is_first", [True, False])
def test_whom_both_have_disabled_only_an_admin_enables_and_then_the_directory_decides_again(
    call, ada, admin_person, admin_is_first
):
    adas = {"schemas": [USER], "userName": ada.email, "externalId": "a1"}
    call("PUT", f"Users/{ada.pk}", {**adas, "active": True})
    by_admin, by_directory = (
        lambda: roles.set_active(admin_person, User.objects.get(pk=ada.pk), False),
        lambda: call("PATCH", f"Users/{ada.pk}", patch("replace", "active", False)),
    )
    for disable in (by_admin, by_directory) if admin_is_first else (by_directory, by_admin):
        disable()
    refused = call("PATCH", f"Users/{ada.pk}", patch("replace", "active", True), 403)
    assert "An administrator has disabled this account" in refused["detail"]
    assert call("GET", f"Users/{ada.pk}")["active"] is False
    ada.refresh_from_db()
    assert not ada.is_active
    roles.set_active(admin_person, ada, True)
    by_directory()
    call("PATCH", f"Users/{ada.pk}", patch("replace", "active", True))
    ada.refresh_from_db()
    assert ada.is_active


def test_the_directory_lets_in_who_waits_for_approval_when_it_says_active(call, ada):
    User.objects.filter(pk=ada.pk).update(is_active=False, awaits_approval=True)
    call("PATCH", f"Users/{ada.pk}", patch("replace", "active", True))
    ada.refresh_from_db()
    assert (ada.is_active, ada.awaits_approval) == (True, False)


def test_a_person_made_inactive_and_deleted_by_the_directory_comes_back(call, db):
    made = call("POST", "Users", {**GRACE, "active": False}, 201)
    call("DELETE", f"Users/{made['id']}", status=204)
    assert call("POST", "Users", GRACE, 201)["id"] == made["id"]
    assert User.objects.get().is_active


def test_nobody_enables_an_account_that_is_being_removed(call, ada, admin_person):
    person = {"schemas": [USER], "userName": ada.email, "externalId": "a1", "active": True}
    call("PUT", f"Users/{ada.pk}", person)
    offboard.begin(ada, by=admin_person)
    call("PUT", f"Users/{ada.pk}", person, 403)
    call("PATCH", f"Users/{ada.pk}", patch("replace", "active", True), 403)
    here = Client()
    here.post("/accounts/login/", {"login": admin_person.email, "password": "correct horse battery"})
    page = here.post(f"/team/people/{ada.pk}/active", {"active": "yes"}, follow=True)
    assert "This account is being removed already." in page.content.decode()
    ada.refresh_from_db()
    assert not ada.is_active


def test_groups_give_their_members_the_spaces_and_take_them_back(call, ada, stranger):
    space = Space.objects.create(owner=stranger, kind=Space.Kind.TEAM, name="Labs")
    made = call(
        "POST", "Groups", {"schemas": [GROUP], "displayName": "Research", "members": [{"value": str(ada.pk)}]}, 201
    )
    group = Group.objects.get()
    assert group.managed_by == "scim"
    space.groups.create(group=group, role="reader")
    assert ada.space_roles.filter(space=space).exists()
    call("PATCH", f"Groups/{made['id']}", patch("add", "members", [{"value": str(stranger.pk)}]))
    assert GroupMember.objects.count() == 2
    after = call("PATCH", f"Groups/{made['id']}", patch("remove", f'members[value eq "{ada.pk}"]'))
    assert [each["value"] for each in after["members"]] == [str(stranger.pk)]
    assert not ada.space_roles.filter(space=space).exists()
    assert "members" not in call("GET", "Groups?excludedAttributes=members")["Resources"][0]
    call("PATCH", f"Groups/{made['id']}", patch("add", "members", [{"value": "999999"}]), 400)
    Budget.objects.create(group=group, period="day", max_tokens=5)
    call("DELETE", f"Groups/{made['id']}", status=204)
    assert not Group.objects.exists()
    assert AuditEvent.objects.get(kind=AuditKind.SETTING_CHANGED).details["deleted"]


def test_groups_of_admins_and_people_with_roles_are_not_the_directorys(call, admin_person):
    by_hand = Group.objects.create(name="Reading")
    call("GET", f"Groups/{by_hand.pk}", status=404)
    call("POST", "Groups", {"schemas": [GROUP], "displayName": "Reading"}, 409)
    # Neither the address of an owner, which can reset the password, nor the last owner's access, nor a role.
    call("PATCH", f"Users/{admin_person.pk}", patch("replace", "userName", "mallory@example.org"), 400)
    call("PATCH", f"Users/{admin_person.pk}", patch("replace", "active", False), 403)
    call("DELETE", f"Users/{admin_person.pk}", status=403)
    admin_person.refresh_from_db()
    assert (admin_person.email, admin_person.is_active) == ("root@example.org", True)
    call("POST", "Users", {**GRACE, "roles": [{"value": "owner"}]}, 201)
    assert User.objects.get(email="grace@example.org").role == ""


@pytest.mark.parametrize(
    "body", [{"schemas": [USER], "userName": "no address"}, {"schemas": [USER]}, {"userName": 1}, []]
)
def test_a_wrong_message_is_refused_as_scim_says(call, body):
    assert call("POST", "Users", body, 400)["schemas"] == ["urn:ietf:params:scim:api:messages:2.0:Error"]
    call("GET", "Users?filter=userName eq", status=400)
    assert not User.objects.exists()


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH"])
def test_a_message_that_is_nested_too_deep_is_refused(call, ada, method):
    for body in (f'{{"userName": {"[" * 50_000}', f'{{"userName": {"[" * 50_000}{"]" * 50_000}}}'):
        response = Client().generic(
            method,
            "/scim/v2/Users" + ("" if method == "POST" else f"/{ada.pk}"),
            body,
            content_type="application/scim+json",
            headers={"Authorization": f"Bearer {TOKEN}"},
        )
        assert response.status_code == 400, response.content.decode()[:200]


def test_only_the_token_opens_it_and_without_one_it_is_not_there(call, client, settings, admin_person):
    for path in ("Users", "Groups", "ServiceProviderConfig", "Schemas", "ResourceTypes", f"Users/{admin_person.pk}"):
        assert client.get(f"/scim/v2/{path}").status_code == 401
        assert client.get(f"/scim/v2/{path}", headers={"Authorization": "Bearer wrong"}).status_code == 401
        call("GET", path)
    client.force_login(admin_person)
    assert client.get("/scim/v2/Users").status_code == 401
    settings.SCIM_TOKEN = ""
    assert client.get("/scim/v2/Users", headers={"Authorization": "Bearer "}).status_code == 404


def test_whom_the_directory_disables_has_no_key_any_more(call):
    made = call("POST", "Users", GRACE, 201)
    grace = User.objects.get(pk=made["id"])
    _key, token = keys.make(grace, "Backup", "year")
    assert keys.grant_of(token).user == grace
    call("PATCH", f"Users/{grace.pk}", patch("Replace", "active", False))
    call("PATCH", f"Users/{grace.pk}", patch("Replace", "active", True))
    assert User.objects.get(pk=grace.pk).is_active
    assert keys.grant_of(token) is None
    _key, token = keys.make(grace, "Backup", "year")
    call("DELETE", f"Users/{grace.pk}", status=204)
    assert not ApiKey.objects.filter(user=grace).exists()
