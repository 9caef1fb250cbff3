"""Roles smaller than an owner: what each may do, and above all what it may not."""

import time

import pytest
from allauth.mfa.models import Authenticator
from allauth.mfa.totp.internal.auth import TOTP, format_hotp_value, generate_totp_secret, hotp_value
from django.core.management import CommandError, call_command
from django.test import Client

from oneclaw.models import AuditEvent, AuditKind, Invitation, User
from oneclaw.people import invitations, roles

PASSWORD = "correct horse battery"
OWNER, PEOPLE, CURATOR, AUDITOR, BILLING = (role for role in User.Role.values if role)


def person_with(role, email=None):
    person = User(email=email or f"{role}@example.org")
    roles.set_role(person, role)
    person.set_password(PASSWORD)
    person.save()
    return person


def client_of(person):
    """A client that has signed in a moment ago."""
    client = Client()
    client.post("/accounts/login/", {"login": person.email, "password": PASSWORD})
    return client


@pytest.fixture
def owner(db):
    return person_with(OWNER)


# For each role the pages that it may open; everybody else with a role may not.
PAGES = {
    "/team/people/": {OWNER, PEOPLE},
    "/team/invitations/": {OWNER, PEOPLE},
    "/admin/": {OWNER, CURATOR, AUDITOR},
    "/admin/memory/memorydocument/": {OWNER, CURATOR},
    "/admin/oneclaw/user/": {OWNER, AUDITOR},
    "/admin/oneclaw/space/": {OWNER},
    "/admin/chat/chatsession/": {OWNER},
}


@pytest.mark.parametrize("role", ["", PEOPLE, CURATOR, AUDITOR, BILLING, OWNER])
def test_each_role_opens_its_own_pages_and_no_other(db, role):
    client = client_of(person_with(role, "somebody@example.org"))
    opened = {page for page in PAGES if client.get(page).status_code == 200}
    assert opened == {page for page, may in PAGES.items() if role in may}


@pytest.mark.parametrize(
    ("role", "may_not"),
    [
        (PEOPLE, [roles.GRANT_ROLES, roles.VIEW_AUDIT, roles.VIEW_SPENDING, "memory.view_memorydocument"]),
        (CURATOR, [roles.MANAGE_PEOPLE, roles.GRANT_ROLES, roles.VIEW_AUDIT, "oneclaw.view_user"]),
        (AUDITOR, [roles.MANAGE_PEOPLE, "oneclaw.change_user", "oneclaw.delete_apikey", "memory.view_memorydocument"]),
        (BILLING, [roles.MANAGE_PEOPLE, roles.VIEW_AUDIT, "oneclaw.view_user", "memory.view_memorydocument"]),
    ],
)
def test_no_role_has_the_rights_of_another(db, role, may_not):
    person = person_with(role)
    assert person.get_all_permissions() == set(roles.PERMISSIONS[role]) != set()
    assert not any(person.has_perm(each) for each in may_not)
    person.is_active = False
    assert not person.get_all_permissions()


@pytest.mark.parametrize("role", [OWNER, PEOPLE, CURATOR, AUDITOR])
def test_nobody_sets_the_password_of_another(ada, db, role):
    client = client_of(person_with(role))
    new = {"password1": "mine from now on", "password2": "mine from now on", "password": "mine", "email": ada.email}
    for path in (f"/admin/oneclaw/user/{ada.pk}/password/", f"/admin/oneclaw/user/{ada.pk}/change/"):
        client.post(path, {**new, "timezone": "UTC", "is_superuser": "on", "role": "owner"})
    ada.refresh_from_db()
    assert ada.check_password(PASSWORD)
    assert (ada.role, ada.is_superuser) == ("", False)


def test_a_people_admin_gives_no_roles_and_does_nothing_to_who_has_one(db, ada, owner):
    client = client_of(person_with(PEOPLE))
    assert client.post(f"/team/people/{ada.pk}/role", {"role": "owner"}).status_code == 403
    client.post("/team/invitations/new", {"email": "y@example.org", "role": "owner", "days": "7"})
    assert not Invitation.objects.exclude(role="").exists()
    for person in (owner, User.objects.get(role=PEOPLE)):
        client.post(f"/team/people/{person.pk}/active", {"active": "no"})
        assert "/welcome/" not in client.post(f"/team/people/{person.pk}/link", follow=True).content.decode()
        person.refresh_from_db()
        assert person.is_active
    # With a member both work.
    assert "/welcome/" in client.post(f"/team/people/{ada.pk}/link").content.decode()
    ada_here = client_of(ada)
    client.post(f"/team/people/{ada.pk}/active", {"active": "no"})
    assert ada_here.get("/settings/").status_code == 302


def test_an_owner_gives_roles_and_the_last_one_stays(db, ada, owner):
    client = client_of(owner)
    client.post(f"/team/people/{ada.pk}/role", {"role": "auditor"})
    ada.refresh_from_db()
    assert (ada.role, ada.is_staff, ada.is_superuser) == ("auditor", True, False)
    refused = client.post(f"/team/people/{owner.pk}/role", {"role": ""}, follow=True)
    assert "only owner" in refused.content.decode()
    owner.refresh_from_db()
    assert owner.is_superuser
    event = AuditEvent.objects.get(kind=AuditKind.RIGHTS_CHANGED)
    assert (event.actor, event.person, event.details) == (owner.pk, ada.pk, {"before": "", "role": "auditor"})
    # No page makes a link for somebody with a role, whoever asks.
    assert "/welcome/" not in client.post(f"/team/people/{ada.pk}/link", follow=True).content.decode()


def test_a_change_of_rights_takes_a_fresh_sign_in_and_is_then_carried_out(db, ada, owner):
    client = Client()
    client.force_login(owner)
    asked = client.post(f"/team/people/{ada.pk}/role", {"role": "billing"})
    assert asked["Location"].startswith("/accounts/reauthenticate/")
    ada.refresh_from_db()
    assert ada.role == ""
    wrong = client.post(asked["Location"], {"password": "wrong"})
    assert wrong.status_code == 200
    done = client.post(asked["Location"], {"password": PASSWORD}, follow=True)
    ada.refresh_from_db()
    assert (done.redirect_chain[-1][0], ada.role) == (f"/team/people/{ada.pk}/", "billing")


def test_a_link_for_a_forgotten_password_does_not_replace_the_second_factor(db, ada, client):
    secret = generate_totp_secret()
    TOTP.activate(ada, secret)
    assert secret not in str(Authenticator.objects.get().data)
    path = "/welcome/" + invitations.invitation_link(ada).partition("/welcome/")[2]
    new = {"name": "Ada", "password1": "a long and quiet evening", "password2": "a long and quiet evening"}
    assert client.post(path, new)["Location"] == "/accounts/second-factor/authenticate/"
    assert "_auth_user_id" not in client.session
    code = format_hotp_value(hotp_value(secret, int(time.time()) // 30))
    assert client.post("/accounts/second-factor/authenticate/", {"code": code})["Location"] == "/"
    assert client.session["_auth_user_id"] == str(ada.pk)


@pytest.mark.parametrize(("required", "led"), [("optional", ""), ("admins", "owner"), ("everyone", "owner member")])
def test_who_must_have_a_second_factor_is_led_to_it(ada, owner, settings, required, led):
    settings.SECOND_FACTOR = required
    for name, person in (("owner", owner), ("member", ada)):
        client = Client()
        client.force_login(person)
        response = client.get("/settings/")
        assert response.get("Location", "") == ("/accounts/second-factor/" if name in led else "")
    TOTP.activate(owner, generate_totp_secret())
    client = Client()
    client.force_login(owner)
    assert client.get("/settings/").status_code == 200


def test_the_last_required_factor_is_not_taken_away(owner, ada, settings):
    settings.SECOND_FACTOR = "admins"
    for person, is_kept in ((owner, True), (ada, False)):
        client = client_of(person)
        client.post("/accounts/reauthenticate/", {"password": PASSWORD})
        TOTP.activate(person, generate_totp_secret())
        client.post("/accounts/second-factor/totp/deactivate/")
        assert Authenticator.objects.filter(user=person).exists() == is_kept


def test_adduser_makes_the_role_that_is_asked_for_and_says_what_staff_means(db, capsys):
    call_command("adduser", "p@example.org", "--role", "people")
    call_command("adduser", "s@example.org", "--staff")
    assert "owner" in capsys.readouterr().err
    made = User.objects.order_by("email").values_list("role", "is_staff", "is_superuser")
    assert list(made) == [("people", False, False), ("owner", True, True)]
    for wrong in (["x@example.org", "--role", "root"], ["x@example.org", "--role", "people", "--staff"]):
        with pytest.raises(CommandError):
            call_command("adduser", *wrong)
