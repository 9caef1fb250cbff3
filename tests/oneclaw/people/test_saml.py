"""Signing in by SAML, with an identity provider that is a process: who comes in, and which answers do not count."""

import html
import re
import runpy
import socket
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from urllib.parse import urlsplit

import pytest
from allauth.mfa.models import Authenticator
from django.core.exceptions import ImproperlyConfigured
from django.test import Client

from oneclaw.models import AuditEvent, AuditKind, Group, GroupMember, Space, User
from oneclaw.people.sign_in import inviting
from oneclaw.people.sign_in.saml import metadata
from oneclaw.people.sign_in.saml.errors import IdentityProviderError
from tests.saml_provider import SamlProvider
from tests.stage import ROOT

GRACE = {"email": "grace@example.org", "displayName": "Grace Hopper"}
PASSWORD = "correct horse battery"
HERE = "http://testserver/accounts/saml"


@pytest.fixture(scope="module")
def process():
    with SamlProvider() as provider:
        yield provider


@pytest.fixture
def provider(process, settings):
    process.fault()
    process.person("g1", **GRACE)
    process.configure(settings)
    return process


def begun(client, provider, query=""):
    """Begin to sign in, and return what the identity provider lets the browser post."""
    response = client.get(f"/accounts/saml/{query}")
    assert response.status_code == 302, response.content.decode()
    return at_provider(provider, response["Location"])


def at_provider(provider, url):
    parts = urlsplit(url)
    page = provider.ask(f"{parts.path}?{parts.query}")
    assert f'action="{HERE}/acs/"' in page
    return {"SAMLResponse": re.search('name="SAMLResponse" value="(.+?)"', page)[1]}


def brought(client, posted):
    """The last page after the answer was posted from the other site, without a cookie."""
    response = Client().post("/accounts/saml/acs/", posted)
    if response.status_code != 302:
        return response
    client.cookies.update(response.cookies)
    return client.get(response["Location"])


def sign_in(provider, client=None):
    client = client or Client()
    return client, brought(client, begun(client, provider))


def who(client):
    return client.session.get("_auth_user_id")


def text(response):
    return html.unescape(response.content.decode())


def test_a_new_person_gets_an_account_and_comes_back_to_it(db, provider):
    client, response = sign_in(provider)
    assert response["Location"] == "/"
    grace = User.objects.get()
    assert who(client) == str(grace.pk)
    assert (grace.email, grace.first_name, grace.role, grace.is_staff) == ("grace@example.org", "Grace", "", False)
    assert not grace.has_usable_password()
    assert AuditEvent.objects.filter(kind=AuditKind.SIGNED_IN, actor=grace.pk).exists()
    # The provider's id counts, and not the address.
    provider.person("g1", email="hopper@example.org")
    assert who(sign_in(provider)[0]) == str(grace.pk)
    User.objects.update(is_active=False)
    client, response = sign_in(provider)
    assert (response["Location"], who(client)) == ("/accounts/inactive/", None)


def test_changed_groups_change_spaces_in_both_directions(db, ada, provider):
    by_oidc = Group.objects.create(name="Reading", managed_by="oidc", external_id="Reading")
    provider.person("g1", **GRACE, groups=["Research", "Reading"])
    sign_in(provider)
    grace = User.objects.get(email="grace@example.org")
    names = lambda: sorted(GroupMember.objects.filter(user=grace).values_list("group__name", flat=True))  # noqa: E731
    assert names() == ["Reading (2)", "Research"]
    assert Group.objects.get(name="Research").managed_by == "saml"
    space = Space.objects.create(owner=ada, kind=Space.Kind.TEAM, name="Labs")
    space.groups.create(group=Group.objects.get(name="Research"), role="editor")
    assert grace.space_roles.get(space=space).role == "editor"
    GroupMember.objects.create(group=by_oidc, user=grace)
    provider.person("g1", **GRACE, groups="Sales")
    sign_in(provider)
    assert names() == ["Reading", "Sales"]
    assert not grace.space_roles.filter(space=space).exists()
    # Too many to send: nothing is known. No attribute at all: none.
    provider.person("g1", **GRACE, **{"http://schemas.microsoft.com/claims/groups.link": "https://graph.example"})
    sign_in(provider)
    assert names() == ["Reading", "Sales"]
    provider.person("g1", **GRACE)
    sign_in(provider)
    assert names() == ["Reading"]


FAULTS = [
    ("is not signed", {"unsigned": True}),
    ("changed on the way", {"tampered": {"grace@": "eve@"}}),
    ("changed on the way", {"key": "nobody"}),
    ("changed on the way", {"issuer": "https://evil.example"}),
    ("was not valid", {"wrapped": "grace@example.org"}),
    ("for another application", {"audience": "https://other.example"}),
    ("for another application", {"audience": ""}),
    ("for another application", {"recipient": f"{HERE}/acs/more"}),
    ("for another application", {"confirmed": ""}),
    ("for another application", {"destination": "https://other.example/acs"}),
    ("has expired", {"seconds": -600}),
    ("begins here", {"in_response_to": ""}),
    ("did not let you in", {"status": "Responder"}),
]


@pytest.mark.parametrize(
    ("sentence", "fault"), FAULTS, ids=lambda each: " ".join(each) if isinstance(each, dict) else ""
)
def test_a_wrong_answer_lets_nobody_in_and_says_why(db, provider, sentence, fault):
    provider.fault(**fault)
    client, response = sign_in(provider)
    assert response.status_code == 403
    assert sentence in text(response)
    assert who(client) is None
    assert not User.objects.exists()


def test_what_is_no_answer_at_all_is_refused(db, provider):
    for posted in ({}, {"SAMLResponse": "!"}, {"SAMLResponse": "PGE+"}, {"SAMLResponse": "A" * 600_000}):
        response = Client().post("/accounts/saml/acs/", posted)
        assert (response.status_code, "was not valid" in text(response)) == (403, True)
    assert Client().get("/accounts/saml/acs/").status_code == 405
    assert "used before" in text(Client().get("/accounts/saml/acs/finish/"))


def test_an_answer_works_once_and_only_in_the_browser_that_asked(db, provider):
    client = Client()
    posted = begun(client, provider)
    stranger = Client()
    begun(stranger, provider)
    response = brought(stranger, posted)
    assert (response.status_code, "used before" in text(response)) == (403, True)
    assert not User.objects.exists()
    brought(client, posted)
    assert who(client)
    client.logout()
    again = brought(client, posted)
    assert (again.status_code, "used before" in text(again), who(client)) == (403, True, None)


def test_who_has_no_lasting_id_or_no_address_does_not_come_in(db, provider, settings):
    transient = "urn:oasis:names:tc:SAML:2.0:nameid-format:transient"
    provider.person("t1", transient, **GRACE, employee="7")
    assert "did not say who you are" in text(sign_in(provider)[1])
    settings.SAML = replace(settings.SAML, id_attribute="employee")
    assert who(sign_in(provider)[0])
    settings.SAML = replace(settings.SAML, id_attribute="")
    provider.person("x")
    assert "did not send an email address" in text(sign_in(provider)[1])
    provider.person("x@example.org", "urn:oasis:names:tc:SAML:1.1:nameid-format:emailAddress")
    assert who(sign_in(provider)[0]) == str(User.objects.get(email="x@example.org").pk)


def test_an_address_that_is_not_trusted_takes_no_account_over(ada, admin_person, provider, settings):
    app = settings.SOCIALACCOUNT_PROVIDERS["saml"]["APPS"][0]["settings"]
    app["verified_email"] = False
    provider.person("x", email="Ada@example.org")
    client, response = sign_in(provider)
    assert (who(client), "Sign in with your password" in text(response)) == (None, True)
    settings.SAML = replace(settings.SAML, sign_up="closed")
    inviting.invite(admin_person, inviting.Wish("grace@example.org", "auditor"), 7)
    provider.person("g1", **GRACE)
    assert "no account for you" in text(sign_in(provider)[1])
    app["verified_email"] = True
    assert who(sign_in(provider)[0])
    assert User.objects.get(email="grace@example.org").role == "auditor"
    settings.SAML = replace(settings.SAML, sign_up="approval")
    provider.person("n1", email="new@example.org")
    client, response = sign_in(provider)
    assert (response["Location"], who(client)) == ("/accounts/waiting/", None)
    # Nor does a trusted one: the account is asked first, and connected by a sign-in as before in the same browser.
    provider.person("x", email="ada@example.org")
    client, response = sign_in(provider)
    assert (response.status_code, who(client), "Sign in once as before" in text(response)) == (403, None, True)
    assert not ada.socialaccount_set.exists()
    client.post("/accounts/login/", {"login": ada.email, "password": PASSWORD})
    assert who(client) == str(ada.pk)
    assert who(sign_in(provider)[0]) == str(ada.pk)


def test_the_second_factor_is_asked_for_and_a_fresh_sign_in_asks_the_provider_again(db, provider, settings):
    settings.SECOND_FACTOR = "everyone"
    client, _ = sign_in(provider)
    assert client.get("/")["Location"] == "/accounts/second-factor/"
    grace = User.objects.get()
    leaving = client.get("/accounts/saml/?prompt=login&next=/settings/")
    address = html.unescape(re.search('content="0;url=(.+?)"', leaving.content.decode())[1])
    assert 'data-forced="true"' in provider.ask(address.removeprefix(provider.url))
    assert brought(client, at_provider(provider, address))["Location"] == "/settings/"
    Authenticator.objects.create(user=grace, type=Authenticator.Type.RECOVERY_CODES, data={"seed": "x"})
    Authenticator.objects.create(user=grace, type=Authenticator.Type.TOTP, data={"secret": "x"})
    client, response = sign_in(provider)
    assert (response["Location"], who(client)) == ("/accounts/second-factor/authenticate/", None)


def test_the_provider_ends_its_sign_ins_and_nobody_else_does(db, ada, provider):
    client, _ = sign_in(provider)
    other, _ = sign_in(provider)
    by_password = Client()
    by_password.force_login(User.objects.get(email="grace@example.org"))
    away = f"{HERE}/logout/"
    for url in (provider.sign_out_url(away, "g1", key=""), provider.sign_out_url(away, "g1", key="nobody")):
        assert client.get(url).status_code == 403
    twice = provider.sign_out_url(away, "g1")
    assert client.get(f"{twice}&SAMLRequest=x").status_code == 403
    client.get(provider.sign_out_url(away, "g1", "_another"))
    client.get(provider.sign_out_url(away, "somebody else"))
    assert (who(client), who(other)) != (None, None)
    response = client.get(provider.sign_out_url(away, "g1", "_session"))
    assert response["Location"].startswith(f"{provider.url}/signed-out?SAMLResponse=")
    assert (who(client), who(other)) == (None, None)
    assert who(by_password)


def test_the_provider_ends_an_older_sign_in_whose_name_was_for_that_time_only(db, provider, settings):
    settings.SAML = replace(settings.SAML, id_attribute="employee")
    clients = []
    for name_id in ("t1", "t2"):
        provider.person(name_id, "urn:oasis:names:tc:SAML:2.0:nameid-format:transient", **GRACE, employee="7")
        clients.append(sign_in(provider)[0])
    older, newer = clients
    assert who(older) == who(newer) is not None
    Client().get(provider.sign_out_url(f"{HERE}/logout/", "t1", "_session"))
    assert (who(older), who(newer)) == (None, str(User.objects.get().pk))


def test_connecting_an_account_takes_a_form(ada, provider):
    client = Client()
    client.force_login(ada)
    assert client.get("/accounts/saml/?process=connect").status_code == 404
    assert "Connect with Example" in text(client.get("/settings/"))


def test_metadata_that_cannot_be_read_stops_a_sign_in_and_later_changes_nothing(db, provider, settings, tmp_path):
    own = text(Client().get("/accounts/saml/metadata/"))
    assert f'Location="{HERE}/acs/"' in own
    assert 'WantAssertionsSigned="true"' in own
    file = tmp_path / "metadata.xml"
    file.write_text(provider.ask("/metadata").replace("http://localhost", "http://idp.example"))
    settings.SAML = replace(settings.SAML, metadata=str(file))
    assert Client().get("/accounts/saml/").status_code == 502
    settings.SAML = replace(settings.SAML, metadata="http://127.0.0.1:9/")
    assert Client().get("/accounts/saml/").status_code == 502
    file.write_text(provider.ask("/metadata"))
    settings.SAML = replace(settings.SAML, metadata=str(file))
    metadata.known[str(file), ""].read_again_at = 0
    assert who(sign_in(provider)[0])
    file.unlink()
    metadata.known[str(file), ""].read_again_at = 0
    assert who(sign_in(provider)[0])
    # Described part by part, without metadata.
    found = metadata.known[str(file), ""].found
    settings.SAML = replace(
        settings.SAML,
        metadata="",
        idp_entity_id=found["entityId"],
        idp_sso_url=found["singleSignOnService"]["url"],
        idp_certificate=found["x509cert"],
    )
    assert who(sign_in(provider)[0])


def test_while_metadata_does_not_come_one_request_reads_it_and_the_others_do_not_wait(db, provider, settings):
    with socket.create_server(("127.0.0.1", 0)) as silent, ThreadPoolExecutor(1) as pool:
        settings.SAML = replace(settings.SAML, metadata=f"http://127.0.0.1:{silent.getsockname()[1]}/")
        silent.settimeout(5)
        reader = pool.submit(metadata.identity_provider)
        with silent.accept()[0]:
            assert Client().get("/accounts/saml/").status_code == 502
        with pytest.raises(IdentityProviderError):
            reader.result(5)
        # The failure is remembered.
        silent.settimeout(0)
        assert Client().get("/accounts/saml/").status_code == 502
        with pytest.raises(BlockingIOError):
            silent.accept()
        # What was read before goes on while it is read again.
        with metadata.reading:
            key = settings.SAML.metadata, ""
            metadata.known[key] = metadata.Known({"entityId": "before"}, 0)
            assert metadata.identity_provider() == {"entityId": "before"}


def test_without_the_settings_there_are_no_such_addresses(client, db):
    for path in ("", "acs/", "acs/finish/", "logout/", "metadata/"):
        assert client.get(f"/accounts/saml/{path}").status_code == 404
    assert client.post("/accounts/saml/acs/").status_code == 404


@pytest.mark.parametrize(
    ("variables", "sentence"),
    [
        ({"METADATA": "http://login.example.org/metadata"}, "must start with https://"),
        ({"METADATA": "/not/there.xml"}, "must be an address or the path of a file"),
        ({"IDP_SSO_URL": "https://login.example.org/sso"}, "needs ONECLAW_SAML_IDP_ENTITY_ID and"),
        ({"IDP_CERTIFICATE": "/not/there.pem"}, "has no certificate"),
        (
            {"METADATA": "https://login.example.org/metadata", "IDP_SSO_URL": "https://login.example.org/sso"},
            "set one of them",
        ),
    ],
    ids=lambda each: " ".join(each) if isinstance(each, dict) else "",
)
def test_a_wrong_setting_stops_the_start_with_a_sentence(monkeypatch, variables, sentence):
    with pytest.raises(ImproperlyConfigured, match=sentence):
        started_with(monkeypatch, **variables)


def test_without_the_package_the_start_says_what_to_install(monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(ImproperlyConfigured, match=r"needs the package python3-saml: install it with \./oneclaw\.sh"):
        started_with(monkeypatch, METADATA="https://login.example.org/metadata")
    assert not started_with(monkeypatch, METADATA="")["SAML"].is_on


def started_with(monkeypatch, **variables):
    for name, value in variables.items():
        monkeypatch.setenv(f"ONECLAW_SAML_{name}", value)
    return runpy.run_path(str(ROOT / "oneclaw/settings.py"))
