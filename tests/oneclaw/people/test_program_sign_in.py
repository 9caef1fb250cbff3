"""Sign-in of programs: registration, consent, tokens that turn over, and what ends them."""

import base64
import hashlib
import html
import re
import secrets
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import parse_qs, urlsplit

import pytest
from allauth.idp.oidc.models import Client as Program
from allauth.idp.oidc.models import Token
from django.db import connection
from django.test import Client
from django.utils import timezone

from oneclaw.models import ApiKey, AuditEvent, Space, SpaceMember, SpentRefreshToken, User
from oneclaw.people import keys, roles
from oneclaw.people.programs import signing_in
from oneclaw.people.programs.grants import Level, access_of
from oneclaw.people.programs.tokens import grant_of_any

REDIRECT = "http://127.0.0.1:33418/callback"


def registered(client, **more):
    """The id of a program that has registered itself."""
    body = {"client_name": "Claude Code", "redirect_uris": [REDIRECT], "token_endpoint_auth_method": "none"} | more
    answer = client.post("/oauth/clients", body, content_type="application/json")
    assert answer.status_code == 201, answer.content
    return answer.json()["client_id"]


def signed_in(page):
    """The signed fields of a consent page."""
    found = re.findall(r'name="(request|shown_to)" value="([^"]+)"', page.content.decode())
    return {name: html.unescape(value) for name, value in found}


class SignIn:
    """One sign-in of a program for the person of `client`, as its browser goes through it."""

    def __init__(self, client, program, **query):
        self.client, self.program, self.verifier = client, program, secrets.token_urlsafe(48)
        challenge = base64.urlsafe_b64encode(hashlib.sha256(self.verifier.encode()).digest()).decode().rstrip("=")
        self.query = {
            "response_type": "code",
            "client_id": program,
            "redirect_uri": REDIRECT,
            "scope": "memory:read memory:propose",
            "state": "xyz",
            "code_challenge": challenge,
            "code_challenge_method": "S256",
            "resource": "http://testserver/mcp",
        } | query

    def page(self):
        return self.client.get("/oauth/authorize", self.query)

    def allow(self, **chosen):
        page = self.page()
        assert page.status_code == 200, page.content
        return self.client.post("/oauth/authorize", signed_in(page) | {"own": "propose", "action": "grant"} | chosen)

    def code(self, **chosen):
        answer = self.allow(**chosen)
        assert answer.status_code == 302, answer.content
        query = parse_qs(urlsplit(answer["Location"]).query)
        assert query["state"] == ["xyz"]
        return query["code"][0]

    def tokens(self, **chosen):
        return self.exchange(code=self.code(**chosen), code_verifier=self.verifier, redirect_uri=REDIRECT).json()

    def exchange(self, grant_type="authorization_code", **fields):
        return Client().post("/oauth/token", {"grant_type": grant_type, "client_id": self.program} | fields)


@pytest.fixture
def signing_in_program(client, ada):
    client.post("/accounts/login/", {"login": ada.email, "password": "correct horse battery"})
    return SignIn(client, registered(Client()))


def test_a_person_whose_sign_in_is_long_ago_proves_who_they_are_first(ada):
    client = Client()
    program = SignIn(client, registered(Client()))
    assert "/accounts/login/" in program.page()["Location"]
    client.force_login(ada)
    asked = program.page()
    assert asked.status_code == 302
    proved = client.post(asked["Location"], {"password": "correct horse battery"})
    assert b"wants to use your memory" in client.get(proved["Location"], follow=True).content


def test_a_program_signs_in_after_its_person_has_said_what_it_may(signing_in_program, ada):
    tokens = signing_in_program.tokens(conversations="on")
    assert (tokens["token_type"], tokens["expires_in"]) == ("Bearer", 3600)
    assert set(tokens["scope"].split()) == {"memory:read", "memory:propose", "conversations:read"}
    grant = grant_of_any(tokens["access_token"])
    assert (grant.user, grant.own, grant.conversations, grant.is_whole) == (ada, Level.PROPOSE, True, False)
    assert ApiKey.objects.get().name == "Claude Code"
    assert {"key.made"} <= set(AuditEvent.objects.values_list("kind", flat=True))


def test_the_page_says_who_asks_and_where_its_answer_goes(signing_in_program):
    page = signing_in_program.page()
    text = page.content.decode()
    assert "Claude Code wants to use your memory" in text
    assert "http://127.0.0.1:33418" in text
    assert "form-action 'self' http://127.0.0.1:33418" in page["Content-Security-Policy"]


def test_a_declined_program_gets_nothing(signing_in_program):
    answer = signing_in_program.allow(action="cancel")
    assert "error=access_denied" in answer["Location"]
    assert not ApiKey.objects.exists()
    assert not Token.objects.exists()


def test_a_used_refresh_token_ends_the_sign_in(signing_in_program):
    first = signing_in_program.tokens()
    second = signing_in_program.exchange("refresh_token", refresh_token=first["refresh_token"]).json()
    assert grant_of_any(second["access_token"]) is not None
    replayed = signing_in_program.exchange("refresh_token", refresh_token=first["refresh_token"])
    assert (replayed.status_code, replayed.json()["error"]) == (400, "invalid_grant")
    assert grant_of_any(second["access_token"]) is None
    assert signing_in_program.exchange("refresh_token", refresh_token=second["refresh_token"]).status_code == 400
    assert not ApiKey.objects.exists()
    assert not Token.objects.filter(type__in=["at", "rt"]).exists()
    assert not SpentRefreshToken.objects.exists()


def test_a_revoked_program_gets_no_new_tokens(signing_in_program, ada):
    tokens = signing_in_program.tokens()
    keys.revoke(ada, ApiKey.objects.get().pk)
    assert grant_of_any(tokens["access_token"]) is None
    assert signing_in_program.exchange("refresh_token", refresh_token=tokens["refresh_token"]).status_code == 400


def test_a_code_is_for_its_own_verifier_once(signing_in_program):
    code = signing_in_program.code()
    fields = {"code": code, "redirect_uri": REDIRECT}
    assert signing_in_program.exchange(**fields, code_verifier="x" * 60).status_code == 400
    assert signing_in_program.exchange(**fields).status_code == 400
    code = signing_in_program.code()
    fields = {"code": code, "redirect_uri": REDIRECT, "code_verifier": signing_in_program.verifier}
    assert signing_in_program.exchange(**fields).status_code == 200
    assert signing_in_program.exchange(**fields).status_code == 400


@pytest.mark.parametrize(
    "wrong",
    [
        {"redirect_uri": "http://127.0.0.1:33418/other"},
        {"redirect_uri": "https://evil.example/callback"},
        {"resource": "https://evil.example/mcp"},
        {"client_id": "unknown"},
    ],
)
def test_what_is_not_this_program_or_this_server_is_refused(client, ada, signing_in_program, wrong):
    answer = SignIn(client, signing_in_program.program, **wrong).page()
    text = answer.content.decode()
    assert "This program could not be connected" in text
    assert ('name="request"' in text, "Location" in answer) == (False, False)


@pytest.mark.parametrize("wrong", [{"code_challenge": ""}, {"scope": "openid"}, {"response_type": "token"}])
def test_a_wrong_request_is_sent_back_with_an_error(client, signing_in_program, wrong):
    query = SignIn(client, signing_in_program.program).query | wrong
    answer = client.get("/oauth/authorize", {name: value for name, value in query.items() if value})
    assert "error=" in answer["Location"]


@pytest.mark.parametrize("method", ["plain", ""])
def test_another_challenge_than_a_hashed_one_is_refused(client, signing_in_program, method):
    answer = client.get("/oauth/authorize", signing_in_program.query | {"code_challenge_method": method})
    assert (answer.status_code, "S256" in answer.content.decode()) == (400, True)


def test_a_loopback_program_may_listen_on_any_port(client, ada, signing_in_program):
    there = SignIn(client, signing_in_program.program, redirect_uri="http://127.0.0.1:50123/callback")
    assert there.allow()["Location"].startswith("http://127.0.0.1:50123/callback?")


def test_a_program_is_public_and_has_our_scopes_alone(db):
    registered(Client(), scope="openid email", grant_types=["client_credentials", "authorization_code"])
    program = Program.objects.get()
    assert (program.type, program.get_grant_types()) == ("public", ["authorization_code", "refresh_token"])
    assert set(program.get_scopes()) == {"memory:read", "memory:propose", "memory:write", "conversations:read"}


def test_a_space_that_asks_for_a_second_person_cannot_be_written_without_asking(client, ada, signing_in_program):
    space = Space.objects.create(owner=ada, kind=Space.Kind.TEAM, name="Kitchen")
    SpaceMember.objects.create(space=space, user=ada, role="owner")
    refused = signing_in_program.allow(**{f"space_{space.pk}": "write"})
    assert refused.status_code == 200
    assert "field__error" in refused.content.decode()
    Space.objects.update(needs_second_person=False)
    signing_in_program.tokens(**{f"space_{space.pk}": "write"})
    assert ApiKey.objects.get().access["spaces"] == {str(space.pk): "write"}


def test_signing_in_again_replaces_what_a_program_may(signing_in_program):
    signing_in_program.tokens()
    signing_in_program.tokens(own="read")
    assert [key.access["own"] for key in ApiKey.objects.all()] == ["read"]


def test_when_programs_are_switched_off_none_registers_or_signs_in(client, signing_in_program, settings):
    tokens = signing_in_program.tokens()
    settings.PROGRAMS = "off"
    assert client.get("/oauth/authorize", signing_in_program.query).status_code == 404
    answer = client.post(
        "/oauth/clients", {"client_name": "x", "redirect_uris": [REDIRECT]}, content_type="application/json"
    )
    assert answer.status_code == 400
    assert grant_of_any(tokens["access_token"]).highest is None


def test_the_metadata_leads_a_program_from_the_resource_to_the_sign_in(db):
    client = Client()
    resource = client.get("/.well-known/oauth-protected-resource/mcp").json()
    assert resource["resource"] == "http://testserver/mcp"
    server = client.get("/.well-known/oauth-authorization-server").json()
    assert resource["authorization_servers"] == [server["issuer"]]
    assert server["token_endpoint"] == "http://testserver/oauth/token"


def test_programs_that_never_signed_in_are_forgotten_after_a_day(signing_in_program):
    signing_in_program.tokens()
    registered(Client())
    Program.objects.update(created_at=timezone.now() - signing_in.UNUSED_FOR)
    signing_in.remove_unused()
    assert [each.pk for each in Program.objects.all()] == [signing_in_program.program]


def test_an_admin_sees_what_was_granted_without_what_it_is_called(client, ada, stranger):
    space = Space.objects.create(owner=ada, kind=Space.Kind.TEAM, name="Kitchen")
    SpaceMember.objects.create(space=space, user=ada, role="owner")
    keys.make(ada, "Private name", "year", access_of("read", {space.pk: "propose"}, conversations=True))
    keys.make(ada, "Old name", "never")
    roles.set_role(stranger, User.Role.OWNER)
    stranger.save()
    client.force_login(stranger)
    page = client.get(f"/team/people/{ada.pk}/").content.decode()
    granted = re.findall(r'field__help">([^<]*)</span></p>', page)
    assert granted[-2:] == [
        "everything that this person may do",
        "own memory: Read; Kitchen: Read, and propose; past conversations",
    ]
    assert ("Private name" in page, "Old name" in page) == (False, False)


def test_a_consent_page_is_for_the_person_who_was_shown_it_and_for_a_while(client, signing_in_program, stranger):
    page = signed_in(signing_in_program.page())
    other = Client()
    other.post("/accounts/login/", {"login": stranger.email, "password": "correct horse battery"})
    refused = other.post("/oauth/authorize", page | {"own": "read", "action": "grant"})
    assert (refused.status_code, ApiKey.objects.exists()) == (200, False)
    other.force_login(stranger)
    stale = Client()
    stale.force_login(stranger)
    assert stale.post("/oauth/authorize", page | {"own": "read", "action": "grant"}).status_code == 403
    assert not ApiKey.objects.exists()


@pytest.mark.parametrize(
    "uri",
    [
        "javascript:alert(1)",
        "data:text/html,x",
        "http://example.org/cb",
        "https://claude.ai@evil.example/cb",
        "http://[",
        "/cb",
    ],
)
def test_no_program_registers_an_address_that_leads_elsewhere(db, uri):
    body = {"client_name": "x", "redirect_uris": [uri], "token_endpoint_auth_method": "none"}
    assert Client().post("/oauth/clients", body, content_type="application/json").status_code == 400
    assert not Program.objects.exists()


@pytest.mark.parametrize("uri", ["http://x;script-src 'unsafe-inline'", "http://[", "javascript:x", "https://a b/"])
def test_an_address_adds_nothing_to_the_policy_of_the_page(client, signing_in_program, uri):
    answer = client.get("/oauth/authorize", signing_in_program.query | {"redirect_uri": uri})
    assert "unsafe-inline" not in answer["Content-Security-Policy"]
    assert "form-action 'self';" in answer["Content-Security-Policy"] + ";"


def test_the_most_is_never_chosen_at_first(client, ada, signing_in_program):
    page = SignIn(
        client, signing_in_program.program, scope="memory:read memory:propose memory:write conversations:read"
    )
    text = page.page().content.decode()
    assert '<option value="propose" selected>' in text
    assert not re.search(r'name="conversations"[^>]*checked', text)


@pytest.mark.django_db(transaction=True)
def test_of_two_refreshes_at_the_same_moment_at_most_one_lives(client, ada):
    client.post("/accounts/login/", {"login": ada.email, "password": "correct horse battery"})
    program = SignIn(client, registered(Client()))
    first = program.tokens()
    with ThreadPoolExecutor(2) as threads:
        answers = list(threads.map(lambda _: refreshed(program, first["refresh_token"]), range(2)))
    assert sorted(answer.status_code for answer in answers) == [200, 400]
    # The second one was a replay: the sign-in has ended.
    assert not ApiKey.objects.exists()


def refreshed(program, token):
    try:
        return program.exchange("refresh_token", refresh_token=token)
    finally:
        connection.close()


def test_a_token_for_another_resource_is_refused(signing_in_program):
    tokens = signing_in_program.tokens()
    answer = signing_in_program.exchange(
        "refresh_token", refresh_token=tokens["refresh_token"], resource="https://evil.example/mcp#x"
    )
    assert (answer.status_code, answer.json()["error"]) == (400, "invalid_target")
