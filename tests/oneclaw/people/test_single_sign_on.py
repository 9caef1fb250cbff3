"""Signing in with a provider of OpenID Connect, which is a process: who comes in, and what its claims change."""

import http.client
import time
from dataclasses import replace
from urllib.parse import parse_qs, urlsplit

import pytest
from allauth.account.models import EmailAddress
from allauth.mfa.totp.internal.auth import TOTP, format_hotp_value, generate_totp_secret, hotp_value
from django.test import Client

from oneclaw.models import Group, GroupMember, Space, User
from oneclaw.people import roles
from oneclaw.people.sign_in import claims, inviting
from tests.oidc_provider import OidcProvider

PASSWORD = "correct horse battery"
GRACE = {"sub": "g1", "email": "grace@example.org", "email_verified": True, "name": "Grace Hopper"}


@pytest.fixture(scope="module")
def process():
    with OidcProvider() as provider:
        yield provider


@pytest.fixture
def provider(process, settings):
    process.fault()
    process.person(**GRACE)
    settings.SOCIALACCOUNT_PROVIDERS, settings.OIDC = process.settings(), replace(settings.OIDC, issuer=process.url)
    return process


def begun(client, query=""):
    """Begin to sign in, and return the path to which the provider sends the browser back."""
    response = client.get(f"/accounts/sso/{query}")
    assert response.status_code == 302, response.content.decode()
    return at_provider(response["Location"])


def at_provider(url):
    parts = urlsplit(url)
    connection = http.client.HTTPConnection(parts.netloc, timeout=20)
    connection.request("GET", f"{parts.path}?{parts.query}")
    back = urlsplit(connection.getresponse().headers["Location"])
    connection.close()
    return f"{back.path}?{back.query}"


def sign_in(client=None):
    client = client or Client()
    return client, client.get(begun(client))


def who(client):
    return client.session.get("_auth_user_id")


def test_a_new_person_gets_an_account_and_comes_back_to_it(db, provider):
    client, response = sign_in()
    assert response["Location"] == "/"
    grace = User.objects.get()
    assert who(client) == str(grace.pk)
    assert (grace.email, grace.first_name, grace.role, grace.is_staff) == ("grace@example.org", "Grace", "", False)
    assert not grace.has_usable_password()
    # The provider's id counts, and not the address.
    provider.person(**{**GRACE, "email": "hopper@example.org"})
    client, _ = sign_in()
    assert who(client) == str(grace.pk)


def test_changed_claims_change_groups_and_through_them_spaces_in_both_directions(db, ada, provider):
    by_hand = Group.objects.create(name="Reading")
    provider.person(**GRACE, groups=["Research", "Reading"])
    sign_in()
    grace = User.objects.get(email="grace@example.org")
    names = lambda: sorted(GroupMember.objects.filter(user=grace).values_list("group__name", flat=True))  # noqa: E731
    # A group of the same name that admins keep is another group.
    assert names() == ["Reading (2)", "Research"]
    assert Group.objects.get(name="Research").managed_by == "oidc"
    space = Space.objects.create(owner=ada, kind=Space.Kind.TEAM, name="Labs")
    space.groups.create(group=Group.objects.get(name="Research"), role="editor")
    assert grace.space_roles.get(space=space).role == "editor"
    GroupMember.objects.create(group=by_hand, user=grace)
    provider.person(**GRACE, groups=["Sales"])
    sign_in()
    assert names() == ["Reading", "Sales"]
    assert not grace.space_roles.filter(space=space).exists()
    # Too many to send: nothing is known. No claim at all: none.
    provider.person(**GRACE, _claim_names={"groups": "src1"})
    sign_in()
    assert names() == ["Reading", "Sales"]
    provider.person(**GRACE)
    sign_in()
    assert names() == ["Reading"]


def test_groups_are_applied_also_when_a_second_factor_is_asked_for_here(db, provider):
    sign_in()
    grace, secret = User.objects.get(), generate_totp_secret()
    TOTP.activate(grace, secret)
    provider.person(**GRACE, groups=["Research"])
    client, response = sign_in()
    assert (response["Location"], who(client)) == ("/accounts/second-factor/authenticate/", None)
    # Not before it is clear who it is.
    assert not grace.group_memberships.exists()
    code = format_hotp_value(hotp_value(secret, int(time.time()) // 30))
    client.post("/accounts/second-factor/authenticate/", {"code": code})
    assert who(client) == str(grace.pk)
    assert grace.group_memberships.get().group.name == "Research"


def test_an_answer_works_once_and_only_in_the_browser_that_asked(db, provider):
    client = Client()
    back = begun(client)
    assert Client().get(back).status_code in (200, 401)
    assert not User.objects.exists()
    client.get(back)
    assert who(client)
    client.logout()
    assert client.get(back).status_code in (200, 401)
    assert who(client) is None


def test_the_state_of_one_sign_in_does_not_take_the_code_of_another(db, provider):
    client, other = Client(), Client()
    state, code = begun(client).partition("state=")[2], begun(other).partition("&")[0].partition("code=")[2]
    client.get(f"/accounts/sso/callback/?code={code}&state={state}")
    assert who(client) is None
    assert not User.objects.exists()


@pytest.mark.parametrize(
    "fault",
    [
        {"id_token": {"nonce": "of another sign-in"}},
        {"id_token": {"iss": "https://evil.example"}},
        {"id_token": {"aud": "another client"}},
        {"id_token": {"exp": 1}},
        {"userinfo": {"sub": "somebody else"}},
    ],
    ids=lambda fault: " ".join(f"{where} {name}" for where, claims in fault.items() for name in claims),
)
def test_a_wrong_answer_lets_nobody_in(db, provider, fault):
    provider.fault(**fault)
    client, response = sign_in()
    assert response.status_code in (200, 401, 403)
    assert who(client) is None
    assert not User.objects.exists()


def test_a_provider_that_names_another_issuer_or_is_away_is_not_asked(db, provider, settings):
    provider.fault(discovery="https://evil.example")
    assert Client().get("/accounts/sso/").status_code == 502
    settings.SOCIALACCOUNT_PROVIDERS["openid_connect"]["APPS"][0]["settings"]["server_url"] = "http://127.0.0.1:9"
    assert Client().get("/accounts/sso/").status_code == 502


def test_an_unverified_address_of_an_account_takes_nothing_over(ada, provider):
    provider.person(sub="x", email="Ada@example.org", email_verified=False)
    client, response = sign_in()
    assert response.status_code == 403
    assert "Sign in with your password" in response.content.decode()
    assert who(client) is None
    # A string that is not “true” is not true either.
    provider.person(sub="x", email="ada@example.org", email_verified="false")
    assert sign_in()[1].status_code == 403
    ada.refresh_from_db()
    assert ada.has_usable_password()


def test_a_new_subject_with_the_address_of_an_account_asks_that_account_first(ada, provider):
    provider.person(sub="a", email="ada@example.org", email_verified="true")
    for role in (User.Role.MEMBER, User.Role.OWNER):
        roles.set_role(ada, role)
        ada.save()
        client, response = sign_in()
        assert (response.status_code, who(client)) == (403, None)
        assert "Sign in once as before" in response.content.decode()
        assert not ada.socialaccount_set.exists()
    # Another account of the same browser connects nothing.
    grace = User.objects.create_user("grace2@example.org", PASSWORD)
    other, _ = sign_in()
    other.post("/accounts/login/", {"login": grace.email, "password": PASSWORD})
    assert who(other) == str(grace.pk)
    assert not grace.socialaccount_set.exists()
    client.post("/accounts/login/", {"login": ada.email, "password": PASSWORD})
    assert who(client) == str(ada.pk)
    assert ada.socialaccount_set.count() == 1
    assert "is connected to your account now" in client.get("/settings/").content.decode()
    again, _ = sign_in()
    assert who(again) == str(ada.pk)


def test_an_account_that_another_subject_opens_is_not_opened_by_a_second_one(db, provider):
    client, _ = sign_in()
    person = User.objects.get(pk=who(client))
    assert not person.has_usable_password()
    provider.person(sub="impostor", email="grace@example.org", email_verified=True)
    client, response = sign_in()
    assert (response.status_code, who(client), person.socialaccount_set.count()) == (403, None, 1)


def test_an_account_with_a_role_is_not_opened_even_when_it_has_no_other_way(ada, provider):
    ada.set_unusable_password()
    roles.set_role(ada, User.Role.OWNER)
    ada.save()
    provider.person(sub="a", email="ada@example.org", email_verified=True)
    client, response = sign_in()
    assert (response.status_code, who(client)) == (403, None)


def test_a_verified_address_leads_to_the_account_that_has_it_and_no_way_in_yet(ada, provider):
    ada.set_unusable_password()
    ada.save()
    EmailAddress.objects.create(user=ada, email=ada.email, primary=True, verified=True)
    provider.person(sub="a", email="ada@example.org", email_verified="true")
    client, _ = sign_in()
    assert who(client) == str(ada.pk)
    assert User.objects.count() == 1


def test_a_disabled_person_stays_out(db, provider):
    sign_in()
    User.objects.update(is_active=False)
    client, response = sign_in()
    assert response["Location"] == "/accounts/inactive/"
    assert who(client) is None


def test_who_is_not_to_get_an_account_gets_none(db, admin_person, provider, settings):
    settings.OIDC = replace(settings.OIDC, sign_up="approval")
    client, response = sign_in()
    assert response["Location"] == "/accounts/waiting/"
    assert (who(client), User.objects.get(email="grace@example.org").awaits_approval) == (None, True)
    User.objects.filter(email="grace@example.org").delete()
    settings.OIDC = replace(settings.OIDC, sign_up="closed")
    assert sign_in()[1].status_code == 403
    inviting.invite(admin_person, inviting.Wish("grace@example.org", "auditor"), 7)
    # Whose address is not verified does not get what somebody else was promised.
    provider.person(**{**GRACE, "email_verified": False})
    assert sign_in()[1].status_code == 403
    provider.person(**GRACE)
    client, _ = sign_in()
    assert who(client)
    assert User.objects.get(email="grace@example.org").role == "auditor"


def test_connecting_an_account_takes_a_form_and_a_fresh_sign_in(ada, provider):
    client = Client()
    client.force_login(ada)
    assert client.get("/accounts/sso/?process=connect").status_code == 404
    response = client.post("/accounts/sso/?process=connect")
    provider.person(sub="a2", email="ada@elsewhere.example", email_verified=True)
    assert client.get(at_provider(response["Location"]))["Location"] == "/accounts/reauthenticate/"
    assert not ada.socialaccount_set.exists()
    done = client.post("/accounts/reauthenticate/", {"password": "correct horse battery"})
    assert done["Location"] == "/settings/"
    assert ada.socialaccount_set.count() == 1


def test_sign_in_leads_to_no_other_site_and_takes_no_parameters_for_the_provider(db, provider):
    client = Client()
    response = client.get("/accounts/sso/?next=https://evil.example/&scope=admin&auth_params=nonce%3Dmine")
    sent = parse_qs(urlsplit(response["Location"]).query)
    assert sorted(sent["scope"][0].split()) == ["email", "openid", "profile"]
    assert sent["nonce"] != ["mine"]
    assert client.get(at_provider(response["Location"]))["Location"] == "/"


def test_names_of_groups_that_cannot_be_stored_and_too_many_of_them_stop_no_sign_in(db, ada):
    claims.apply_groups(ada, claims.OIDC, {"groups": ["Res\0earch", "", 7, "Reading"]}, "groups")
    assert sorted(Group.objects.values_list("name", flat=True)) == ["Reading", "Res\ufffdearch"]
    too_many = [f"Group {number}" for number in range(claims.GROUPS_MAX_COUNT + 1)]
    claims.apply_groups(ada, claims.OIDC, {"groups": too_many}, "groups")
    assert Group.objects.count() == 2
    assert GroupMember.objects.filter(user=ada).count() == 2
