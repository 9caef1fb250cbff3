"""What no honest browser or directory sends gets a sentence from pages and SCIM, and not an error page."""

import json

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import CommandError, call_command
from django.test import Client
from django.urls import reverse

from oneclaw.models import Group, Invitation, User
from oneclaw.people.sign_in import inviting
from oneclaw.team.urls import urlpatterns
from tests.oneclaw.team.test_pages import client_of

pytestmark = pytest.mark.django_db
# An address by its form, and too long for a row and a mail server.
TOO_LONG = "a" * 250 + "@example.org"
TOKEN = "a token of a directory with enough characters"
PASSWORDS = {"name": "Grace", "password1": "a long and quiet evening", "password2": "a long and quiet evening"}


@pytest.fixture
def owner(admin_person):
    return client_of(admin_person)


@pytest.mark.parametrize(
    ("lines", "sentence"),
    [
        (TOO_LONG, "is not an email address"),
        ("a@example.org,\x00", "is not a role"),
        ("a@example.org,,Rese\x00arch", "There is no group"),
        ('"a@example.org,,\nb@example.org', "is not an email address"),
        ("\n".join(f"person{number}@example.org" for number in range(1001)), "more than 1000 lines"),
        ("a@example.org\nA@Example.ORG", "is there twice"),
    ],
    ids=["too long", "no role", "no group", "an open quote", "too many", "twice"],
)
def test_a_list_with_rubbish_invites_nobody_and_names_the_line(owner, lines, sentence):
    file = SimpleUploadedFile("people.csv", lines.encode())
    answer = owner.post("/team/invitations/many", {"many-file": file, "many-days": "7"})
    assert (answer.status_code, sentence in answer.content.decode()) == (422, True)
    assert not Invitation.objects.exists()


def test_an_address_that_no_row_holds_is_refused_wherever_it_is_written(owner, admin_person, settings):
    assert owner.post("/team/invitations/new", {"email": TOO_LONG, "days": "7"}).status_code == 422
    _invitation, link = inviting.invite(admin_person, inviting.Wish(""), 7)
    path = "/invited/" + link.partition("/invited/")[2]
    assert Client().post(path, {**PASSWORDS, "email": TOO_LONG}).status_code == 200
    settings.SIGN_UP = "open"
    assert Client().post("/accounts/signup/", {**PASSWORDS, "email": TOO_LONG}).status_code == 200
    with pytest.raises(CommandError, match="not an email address"):
        call_command("adduser", TOO_LONG)
    assert User.objects.count() == 1


@pytest.mark.parametrize(
    "person",
    [{"userName": TOO_LONG}, {"externalId": "e" * 300}, {"displayName": "Grace\x00"}, {"externalId": "\x00"}],
    ids=["address", "id", "name", "a NUL"],
)
def test_a_directory_gets_an_error_of_scim(settings, person):
    settings.SCIM_TOKEN = TOKEN
    body = {"schemas": ["urn:ietf:params:scim:schemas:core:2.0:User"], "userName": "grace@example.org", **person}
    headers = {"Authorization": f"Bearer {TOKEN}"}
    answer = Client().post("/scim/v2/Users", json.dumps(body), "application/scim+json", headers=headers)
    assert (answer.status_code, answer.json()["scimType"]) == (400, "invalidValue")
    found = Client().get('/scim/v2/Users?filter=userName eq "a\x00"', headers=headers)
    assert found.status_code in (200, 400)
    assert not User.objects.exists()


def test_no_page_of_the_team_fails_at_what_stands_in_its_address(owner, admin_person):
    group = Group.objects.create(name="Research")
    ids = {"person_id": admin_person.pk, "name": "x", "budget_id": 1, "invitation_id": 1, "rule_id": 1, "hold_id": 1}
    names = ["q", "page", "person", "kind", "from", "to", "group", "month", "day", "space", "server", "model", "before"]
    for rubbish in ("\x00", "-1", "9" * 30, "2026-99-99", "’\ud800"):
        query = {name: rubbish.encode(errors="surrogatepass") for name in names}
        for pattern in urlpatterns:
            known = {name: ids.get(name, 1) for name in pattern.pattern.converters}
            answer = owner.get(reverse(pattern.name, kwargs=known), query)
            assert answer.status_code in (200, 302, 400, 404, 405), (pattern.name, rubbish)
        assert owner.get(f"/groups/{group.pk}", query).status_code == 200
