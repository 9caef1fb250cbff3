"""What follows from a new password: keys and sign-ins end, the person is told, and an admin's link names itself."""

import io
import re
import time
from collections.abc import Callable

import pytest
from allauth.mfa.totp.internal.auth import TOTP, format_hotp_value, generate_totp_secret, hotp_value
from django.core import mail
from django.core.management import call_command
from django.test import Client

from memory.policy import curation
from oneclaw.models import ApiKey, AuditKind, User
from oneclaw.people import keys, notices, roles
from oneclaw.reasons import Reason

PASSWORD, NEW = "correct horse battery", "a new horse battery staple"


@pytest.fixture
def people_admin(stranger):
    roles.set_role(stranger, User.Role.PEOPLE)
    stranger.save()
    return stranger


def signed_in(person: User, password: str = PASSWORD) -> Client:
    client = Client()
    client.post("/accounts/login/", {"login": person.email, "password": password})
    return client


def with_second_factor(person: User) -> Callable[[], str]:
    """Give `person` an app for codes, and return what makes the present code."""
    secret = generate_totp_secret()
    TOTP.activate(person, secret)
    return lambda: format_hotp_value(hotp_value(secret, int(time.time()) // 30))


def is_in(client: Client) -> bool:
    return client.get("/settings/").status_code == 200


def link_for(person: User, admin: User) -> str:
    page = signed_in(admin).post(f"/team/people/{person.pk}/link", follow=True).content.decode()
    found = re.search(r"/welcome/[\w=-]+/[\w-]+/", page)
    return found[0] if found else ""


def use(link: str) -> Client:
    client = Client()
    client.post(link, {"name": "Ada", "password1": NEW, "password2": NEW})
    return client


def test_with_a_mail_server_a_link_goes_to_its_address_only(ada, people_admin, settings):
    settings.MAIL = True
    assert link_for(ada, people_admin) == ""
    (sent,) = mail.outbox
    assert sent.to == [ada.email]
    assert "/welcome/" in sent.body
    client = use(re.search(r"/welcome/[\w=-]+/[\w-]+/", sent.body)[0])
    assert is_in(client)
    assert "A new password was set by a one-time link" in client.get("/settings/").content.decode()


def test_a_link_that_an_admin_was_shown_names_itself_and_ends_everything_else(ada, people_admin, settings):
    settings.CURATION = "recorded"
    hers = signed_in(ada)
    _key, token = keys.make(ada, "Backup", "never")
    client = use(link_for(ada, people_admin))
    assert (is_in(client), is_in(hers), keys.grant_of(token)) == (True, False, None)
    for page in ("/settings/", "/"):
        assert f"a link that was shown to {people_admin.email}" in client.get(page).content.decode()
    # Who has used the link does not make it silent.
    client.post("/settings/notices/dismiss")
    again = signed_in(ada, NEW)
    assert f"a link that was shown to {people_admin.email}" in again.get("/settings/").content.decode()
    (look,) = curation.looks_at(ada)
    assert (look.kind, look.actor) == (AuditKind.RESET_LINK_USED, people_admin.pk)
    assert "Your account was opened with a link" in again.get("/memory/looks").content.decode()


def test_while_curation_is_closed_such_a_link_opens_nothing_until_an_owner_confirms(
    ada, people_admin, admin_person, settings
):
    settings.CURATION = "closed"
    client = use(link_for(ada, people_admin))
    assert not is_in(client)
    assert not is_in(signed_in(ada, NEW))
    assert not is_in(signed_in(ada))
    # Nor does an admin open it by enabling the account.
    boss = signed_in(people_admin)
    boss.post(f"/team/people/{ada.pk}/active", {"active": "yes"})
    assert boss.post(f"/team/people/{ada.pk}/confirm").status_code == 403
    assert not User.objects.get(pk=ada.pk).is_active
    # An owner does, and needs a second factor.
    owner = signed_in(admin_person)
    owner.post(f"/team/people/{ada.pk}/active", {"active": "yes"})
    owner.post(f"/team/people/{ada.pk}/confirm")
    assert not User.objects.get(pk=ada.pk).is_active
    code = with_second_factor(admin_person)
    asked = owner.post(f"/team/people/{ada.pk}/confirm")
    assert "/accounts/second-factor/reauthenticate/" in asked["Location"]
    owner.post(asked["Location"], {"code": code()}, follow=True)
    assert User.objects.get(pk=ada.pk).is_active
    assert is_in(signed_in(ada, NEW))


def test_keys_are_made_after_a_fresh_sign_in_only(ada):
    stolen = Client()
    stolen.force_login(ada)
    asked = stolen.post("/settings/keys", {"name": "Backup", "period": "never"})
    assert "/accounts/reauthenticate/" in asked["Location"]
    assert not ApiKey.objects.exists()
    done = stolen.post(asked["Location"], {"password": PASSWORD}, follow=True)
    assert "Your new key:" in done.content.decode()
    assert ApiKey.objects.count() == 1


def test_a_change_of_the_password_ends_keys_and_says_so(ada):
    _key, token = keys.make(ada, "Backup", "never")
    client = signed_in(ada)
    fields = {"oldpassword": PASSWORD, "password1": NEW, "password2": NEW}
    page = client.post("/accounts/password/change/", fields, follow=True).content.decode()
    assert keys.grant_of(token) is None
    assert "Your API keys have ended" in page
    client.post("/settings/notices/dismiss")
    assert "Your API keys have ended" not in client.get("/settings/").content.decode()


def test_so_does_one_by_a_command_and_not_a_hash_that_is_stored_anew(ada, settings, monkeypatch):
    _key, token = keys.make(ada, "Backup", "never")
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.PBKDF2SHA1PasswordHasher", *settings.PASSWORD_HASHERS]
    hers = signed_in(ada)
    ada.refresh_from_db()
    assert ada.password.startswith("pbkdf2_sha1")
    assert keys.grant_of(token).user == ada
    monkeypatch.setattr("getpass.getpass", lambda **_: NEW)
    call_command("changepassword", ada.email, stdout=io.StringIO())
    assert (keys.grant_of(token), is_in(hers)) == (None, False)
    assert "Your API keys have ended" in signed_in(ada, NEW).get("/settings/").content.decode()


@pytest.mark.parametrize("way", ["sign-out", "active"])
def test_signing_out_everywhere_and_disabling_end_keys_for_good(ada, people_admin, way):
    _key, token = keys.make(ada, "Backup", "never")
    boss = signed_in(people_admin)
    boss.post(f"/team/people/{ada.pk}/{way}", {"active": "no"})
    assert keys.grant_of(token) is None
    boss.post(f"/team/people/{ada.pk}/active", {"active": "yes"})
    assert keys.grant_of(token) is None
    assert not ApiKey.objects.exists()


def test_a_reset_by_mail_is_told_on_the_page_and_by_mail(ada, settings, client, django_capture_on_commit_callbacks):
    settings.MAIL = True
    _key, token = keys.make(ada, "Backup", "never")
    hers = signed_in(ada)
    client.post("/accounts/password/reset/", {"email": ada.email})
    link = re.search(r"/accounts/password/reset/key/\S+", mail.outbox[0].body)[0]
    form = client.get(link)["Location"]
    with django_capture_on_commit_callbacks(execute=True):
        client.post(form, {"password1": NEW, "password2": NEW})
    assert (keys.grant_of(token), is_in(hers)) == (None, False)
    assert "was reset by mail" in mail.outbox[-1].body
    assert mail.outbox[-1].to == [ada.email]
    assert "was reset by mail" in signed_in(ada, NEW).get("/settings/").content.decode()


def test_every_response_switches_off_what_no_page_uses(client, ada):
    client.force_login(ada)
    for path in ("/", "/accounts/login/", "/healthz", "/not/there", "/api/v1/sessions"):
        assert "camera=(), " in client.get(path)["Permissions-Policy"]


def test_what_stays_is_not_pushed_out_by_many_other_notices(ada):
    notices.tell(ada, Reason("people.password_by_admins_link", {"who": "eve@example.org"}), kept=True)
    for number in range(notices.MAX_NOTICES + 5):
        notices.tell(ada, Reason("spaces.invited", {"who": "Eve", "name": f"Space {number}"}))
    ada.refresh_from_db()
    first, *rest = notices.sentences(ada)
    assert "eve@example.org" in first
    assert len(rest) == notices.MAX_NOTICES
    assert "Space 5" in rest[0]
