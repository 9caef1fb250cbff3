"""A change of rights by somebody whom only their provider knows: it must prove that it has asked them again."""

import html
import re
import time
from dataclasses import replace
from urllib.parse import parse_qs, urlsplit

import pytest
from allauth.mfa.models import Authenticator
from allauth.mfa.totp.internal.auth import TOTP, generate_totp_secret
from django.test import Client

from oneclaw.models import User
from oneclaw.people import roles
from tests.oidc_provider import OidcProvider
from tests.oneclaw.people import test_saml, test_single_sign_on
from tests.saml_provider import SamlProvider

GRACE = "grace@example.org"
HOUR = 3600


class ByOidc:
    """Grace signs in by OpenID Connect."""

    path = "/accounts/sso/"

    def __init__(self, process, settings):
        self.provider = process
        settings.SOCIALACCOUNT_PROVIDERS = process.settings()
        settings.OIDC = replace(settings.OIDC, issuer=process.url)

    def person(self, number=1, email=GRACE):
        self.provider.person(sub=f"g{number}", email=email, email_verified=True, name="Grace Hopper")

    def answered(self, client, address):
        return client.get(test_single_sign_on.at_provider(address))

    def says(self, at):
        self.provider.fault(id_token={"auth_time": at})


class BySaml:
    """Grace signs in by SAML."""

    path = "/accounts/saml/"

    def __init__(self, process, settings):
        self.provider = process
        process.configure(settings)

    def person(self, number=1, email=GRACE):
        self.provider.person(f"g{number}", email=email, displayName="Grace Hopper")

    def answered(self, client, address):
        return test_saml.brought(client, test_saml.at_provider(self.provider, address))

    def says(self, at):
        self.provider.fault(asked_at=time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(at)))


@pytest.fixture(scope="module")
def processes():
    with OidcProvider() as oidc, SamlProvider() as saml:
        yield {ByOidc: oidc, BySaml: saml}


@pytest.fixture(params=[ByOidc, BySaml], ids=["oidc", "saml"])
def way(request, processes, settings, db):
    found = request.param(processes[request.param], settings)
    found.provider.fault()
    found.provider.tell("session", {})
    found.person()
    return found


@pytest.fixture
def oidc(processes, settings, db):
    found = ByOidc(processes[ByOidc], settings)
    found.provider.fault()
    found.provider.tell("session", {})
    found.person()
    return found


def signed_in(way):
    """An owner without a password of their own, who was asked by the provider an hour ago."""
    way.provider.session(HOUR)
    client = Client()
    way.answered(client, client.get(way.path)["Location"])
    grace = User.objects.get(email=GRACE)
    if not grace.role:
        roles.set_role(grace, User.Role.OWNER)
        grace.save()
    return client


def led_to_provider(client, asked):
    """The address at the provider to which a change of rights leads, through a page of ours."""
    leaving = client.get(asked["Location"])
    return html.unescape(re.search('content="0;url=(.+?)"', leaving.content.decode())[1])


def change(client, person, role="auditor"):
    return client.post(
        f"/team/people/{person.pk}/role", {"role": role}, headers={"referer": "http://testserver/team/people/"}
    )


def role_of(person):
    person.refresh_from_db()
    return person.role


def text(response):
    return html.unescape(response.content.decode())


def test_the_provider_asks_again_and_the_change_is_then_carried_out(way, ada):
    client = signed_in(way)
    before = client.session.session_key
    asked = change(client, ada)
    assert (asked.status_code, role_of(ada)) == (302, "")
    back = way.answered(client, led_to_provider(client, asked))
    # The sign-in stays, with its open pages, and the change is carried out once.
    assert client.session.session_key == before
    done = client.get(back["Location"])
    assert (done["Location"], role_of(ada)) == (f"/team/people/{ada.pk}/", "auditor")
    assert "made already" in text(client.get(back["Location"]))
    # Now they are fresh for five minutes.
    assert change(client, ada, "billing")["Location"] == f"/team/people/{ada.pk}/"
    assert role_of(ada) == "billing"


def test_what_is_asked_of_a_provider_is_what_the_standards_name(oidc, processes, settings, ada):
    client = signed_in(oidc)
    sent = parse_qs(urlsplit(led_to_provider(client, change(client, ada))).query)
    assert (sent["prompt"], sent["max_age"]) == (["login"], ["0"])
    # Nothing of it when somebody just signs in.
    sent = parse_qs(urlsplit(Client().get("/accounts/sso/?action=reauthenticate")["Location"]).query)
    assert not {"prompt", "max_age"} & set(sent)
    saml = BySaml(processes[BySaml], settings)
    saml.person()
    # The account that the other provider opens is asked first: it says yes by signing in there in the same browser.
    client = Client()
    assert "Sign in once as before" in text(saml.answered(client, client.get(saml.path)["Location"]))
    oidc.provider.session(HOUR)
    oidc.answered(client, client.get(oidc.path)["Location"])
    assert set(User.objects.get(email=GRACE).socialaccount_set.values_list("provider", flat=True)) == {"sso", "saml"}
    client = signed_in(saml)
    User.objects.get(email=GRACE).socialaccount_set.filter(provider="sso").delete()
    address = led_to_provider(client, change(client, ada))
    assert 'data-forced="true"' in saml.provider.ask(address.removeprefix(saml.provider.url))
    plain = Client().get("/accounts/saml/")["Location"]
    assert 'data-forced="false"' in saml.provider.ask(plain.removeprefix(saml.provider.url))


@pytest.mark.parametrize(
    ("seconds", "sentence"),
    [(-HOUR, "without asking who you are"), (-90, "without asking who you are"), (90, "clock"), (-30, ""), (30, "")],
)
def test_only_a_time_within_a_minute_of_the_request_proves_it(way, ada, seconds, sentence):
    client = signed_in(way)
    address = led_to_provider(client, change(client, ada))
    way.says(int(time.time()) + seconds)
    back = way.answered(client, address)
    if sentence:
        assert (back.status_code, sentence in text(back)) == (403, True)
        # Neither this change nor the next one is made.
        assert change(client, ada).status_code == 302
        assert "/team/" not in change(client, ada)["Location"]
    else:
        client.get(back["Location"])
    assert role_of(ada) == ("" if sentence else "auditor")


def test_a_provider_that_does_not_ask_again_proves_nothing(way, ada):
    client = signed_in(way)
    way.provider.fault(never_asks_again=True)
    back = way.answered(client, led_to_provider(client, change(client, ada)))
    assert (back.status_code, "Sign out there and here" in text(back), role_of(ada)) == (403, True, "")


@pytest.mark.parametrize(
    "fault", [{"without": ["auth_time"]}, *({"id_token": {"auth_time": wrong}} for wrong in ("now", True, -1, 10**400))]
)
def test_without_a_time_in_the_id_token_the_person_is_told_to_set_up_a_passkey(oidc, ada, fault):
    client = signed_in(oidc)
    # That of another source is not part of this sign-in.
    oidc.provider.fault(**fault, userinfo={"auth_time": int(time.time())})
    back = oidc.answered(client, led_to_provider(client, change(client, ada)))
    assert (back.status_code, "set up a passkey or an app" in text(back), role_of(ada)) == (403, True, "")


def test_an_assertion_without_a_readable_time_proves_nothing(processes, settings, db, ada):
    saml = BySaml(processes[BySaml], settings)
    saml.provider.fault()
    saml.person()
    client = signed_in(saml)
    address = led_to_provider(client, change(client, ada))
    saml.provider.fault(asked_at="yesterday")
    back = saml.answered(client, address)
    assert (back.status_code, role_of(ada)) == (403, "")


def test_a_confirmation_works_once_and_only_in_the_sign_in_that_asked(way, ada):
    client = signed_in(way)
    address = led_to_provider(client, change(client, ada))
    other = signed_in(way)
    assert way.answered(other, address).status_code in (200, 401, 403)
    assert "/team/" not in change(other, ada)["Location"]
    # Asked in one sign-in, answered in another one of the same browser.
    way.person(2, "hopper@example.org")
    way.answered(client, client.get(way.path)["Location"])
    way.person()
    assert way.answered(client, address).status_code in (200, 401, 403)
    assert role_of(ada) == ""


def test_somebody_else_at_the_provider_confirms_nothing_and_signs_nobody_in(way, ada):
    client = signed_in(way)
    address = led_to_provider(client, change(client, ada))
    way.person(2, "hopper@example.org")
    back = way.answered(client, address)
    assert (back.status_code, "as somebody else" in text(back)) == (403, True)
    # Also with the same address, by an account that is not connected.
    way.person(3)
    back = way.answered(client, led_to_provider(client, change(client, ada)))
    assert (back.status_code, "as somebody else" in text(back)) == (403, True)
    assert client.session["_auth_user_id"] == str(User.objects.get(email=GRACE).pk)
    assert not User.objects.filter(email="hopper@example.org").exists()
    assert role_of(ada) == ""


def test_a_plain_sign_in_is_fresh_only_when_the_provider_says_that_it_has_just_asked(oidc, ada):
    assert "/accounts/sso/" in change(signed_in(oidc), ada)["Location"]
    oidc.provider.fault(always_says_when=True)
    assert "/accounts/sso/" in change(signed_in(oidc), ada)["Location"]
    oidc.provider.session(10)
    client = Client()
    oidc.answered(client, client.get(oidc.path)["Location"])
    assert change(client, ada)["Location"] == f"/team/people/{ada.pk}/"


def test_who_has_a_second_factor_here_confirms_with_that(oidc, ada):
    client = signed_in(oidc)
    TOTP.activate(User.objects.get(email=GRACE), generate_totp_secret())
    assert change(client, ada)["Location"].startswith("/accounts/second-factor/reauthenticate/")


def test_an_old_sign_in_sets_up_no_second_factor_with_which_it_would_be_fresh(way, settings):
    client = signed_in(way)
    if way.path == "/accounts/sso/":
        # Without a time, having signed in a moment ago is all that can be asked for.
        assert client.get("/accounts/second-factor/totp/activate/").status_code == 200
        way.provider.fault(always_says_when=True)
        client = signed_in(way)
    asked = client.get("/accounts/second-factor/totp/activate/")
    assert asked["Location"].startswith(f"{way.path}?action=reauthenticate")
    back = way.answered(client, led_to_provider(client, asked))
    assert back["Location"] == "/accounts/second-factor/totp/activate/"
    assert client.get(back["Location"]).status_code == 200
    # An hour later.
    session = client.session
    session["asked_by_provider"] = {**session["asked_by_provider"], "at": time.time() - HOUR}
    session.save()
    assert client.post("/accounts/second-factor/totp/activate/", {"code": "000000"}).status_code == 302
    assert client.post(f"{way.path}?process=connect").status_code == 302
    assert not Authenticator.objects.exists()


@pytest.mark.parametrize("error", ["access_denied", "server_error"])
def test_who_cancels_at_the_provider_is_told_that_nothing_was_changed(oidc, ada, error):
    client = signed_in(oidc)
    state = parse_qs(urlsplit(led_to_provider(client, change(client, ada))).query)["state"][0]
    told = client.get(f"/accounts/sso/callback/?error={error}&state={state}", follow=True)
    assert "Nothing was changed. You are signed in as before." in text(told)
    assert role_of(ada) == ""
    assert "Nothing was changed" not in text(Client().get("/accounts/sso/cancelled/"))


def test_groups_that_the_provider_names_are_applied_when_it_has_asked_again(oidc, ada):
    client = signed_in(oidc)
    oidc.provider.person(sub="g1", email=GRACE, email_verified=True, groups=["Research"])
    oidc.answered(client, led_to_provider(client, change(client, ada)))
    assert User.objects.get(email=GRACE).group_memberships.get().group.name == "Research"


def test_a_sign_out_at_the_provider_after_it_has_asked_again_ends_the_sign_in(processes, settings, db, ada):
    saml = BySaml(processes[BySaml], settings)
    saml.provider.fault()
    saml.person()
    client = signed_in(saml)
    # It has begun another session.
    saml.provider.fault(index="_newer")
    saml.answered(client, led_to_provider(client, change(client, ada)))
    Client().get(saml.provider.sign_out_url("http://testserver/accounts/saml/logout/", "g1", "_newer"))
    assert "_auth_user_id" not in client.session


def test_who_has_nothing_to_prove_who_they_are_is_told_whom_to_ask(admin_person, ada):
    client = Client()
    client.force_login(admin_person)
    admin_person.set_unusable_password()
    admin_person.save()
    client.force_login(admin_person)
    refused = change(client, ada)
    assert (refused.status_code, "Ask your administrator" in text(refused), role_of(ada)) == (403, True, "")
