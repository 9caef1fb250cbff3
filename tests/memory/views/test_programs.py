"""The pages of connected programs: a key is made and shown once, what a program has read and saved, and its end."""

import datetime as dt
import re

import pytest
from django.utils import timezone
from playwright.async_api import expect

from memory.access.programs import ProgramAccess
from memory.documents import write
from memory.documents.write import Append, Author, Source
from memory.forgetting.forget import forget
from memory.models import MemoryDocument
from memory.provenance.programs import keep_read
from memory.tools import programs
from oneclaw.models import ApiKey, Space
from oneclaw.people import keys
from oneclaw.people.programs.grants import Grant, access_of
from oneclaw.threads import in_database
from tests.browser import open_page, violations_in_both_schemes


@pytest.fixture
def own(ada):
    return remembered(ada)


def remembered(ada):
    space = Space.objects.own_of(ada)
    write.apply(space, "MEMORY.md", Append("- Ada likes tea.\n- Ada has a cat.\n"), Author(Source.PAGE, ada))
    return space


def connected(person, **access):
    key, _ = keys.make(person, "Claude Code", "year", access_of(access.get("own", "propose"), {}, False))
    return key


def use(key, person):
    """Let the program read a line and save another."""
    document = MemoryDocument.objects.get(space__owner=person, path="MEMORY.md")
    keep_read(key, [(document, ["- Ada likes tea."])])
    access = ProgramAccess.of(Grant.of(key))
    programs.save(access, access.space(None), "Ada plays chess.")


def sign_in(client, person):
    client.post("/accounts/login/", {"login": person.email, "password": "correct horse battery"})


def test_a_key_is_shown_once_with_the_lines_for_each_program(client, ada):
    sign_in(client, ada)
    page = client.post("/settings/programs/", {"name": "Cursor", "own": "read"}).content.decode()
    (token,) = set(re.findall(r"oc_[\w-]{43}", page))
    assert (
        f'claude mcp add --transport http oneclaw http://testserver/mcp --header "Authorization: Bearer {token}"'
        in (page.replace("&quot;", '"'))
    )
    assert "oc_" not in client.get("/settings/programs/").content.decode()
    grant = keys.grant_of(token)
    assert (grant.own.name, grant.spaces, grant.conversations) == ("READ", {}, False)


@pytest.mark.parametrize("fields", [{"name": "", "own": "read"}, {"name": "x", "own": ""}, {"name": "x", "own": "all"}])
def test_an_incomplete_choice_is_said_beside_the_form(client, ada, fields):
    sign_in(client, ada)
    assert client.post("/settings/programs/", fields).status_code == 422
    assert not ApiKey.objects.exists()


def test_the_page_of_a_program_shows_what_it_read_and_saved(client, ada, own):
    client.force_login(ada)
    key = connected(ada)
    use(key, ada)
    page = client.get(f"/settings/programs/{key.pk}").content.decode()
    assert ("Ada likes tea." in page, "Ada has a cat." in page) == (True, False)
    assert ("Ada plays chess." in page, "waits for your yes" in page) == (True, True)
    entry = client.get(f"/memory/{own.documents.get().pk}/entries/1").content.decode()
    assert ("Programs that have read this" in entry, "Claude Code" in entry) == (True, True)
    assert (
        "Programs that have read this" not in client.get(f"/memory/{own.documents.get().pk}/entries/2").content.decode()
    )


def test_what_it_may_is_changed_and_ended(client, ada, own):
    key = connected(ada)
    client.force_login(ada)
    asked = client.post(f"/settings/programs/{key.pk}", {"own": "write"})
    assert "/reauthenticate" in asked["Location"]
    key.refresh_from_db()
    assert key.access["own"] == "propose"
    client.post("/accounts/logout/")
    sign_in(client, ada)
    client.post(f"/settings/programs/{key.pk}", {"own": "read", "conversations": "on"})
    key.refresh_from_db()
    assert key.access == {"own": "read", "spaces": {}, "conversations": True}
    client.post(f"/settings/programs/{key.pk}/revoke")
    assert not ApiKey.objects.exists()


def test_the_proof_of_a_forgetting_names_the_programs_that_had_read_it(client, ada, own):
    client.force_login(ada)
    key = connected(ada)
    use(key, ada)
    done = forget(own, ["- Ada likes tea."], ada)
    page = client.get(f"/memory/forget/{done.pk}").content.decode()
    assert ("Claude Code" in page, "has not asked since" in page) == (True, True)
    ApiKey.objects.update(heard_forgotten_at=timezone.now() + dt.timedelta(minutes=1))
    assert "has been told" in client.get(f"/memory/forget/{done.pk}").content.decode()
    proof = client.get(f"/memory/forget/{done.pk}/receipt.json").json()
    assert proof["programs_that_had_read_it"] == [{"program": "Claude Code", "has_asked_since": True}]


@pytest.mark.browser
async def test_the_pages_are_accessible(live, ada):
    await in_database(remembered, ada)
    key = await in_database(connected, ada)
    await in_database(use, key, ada)
    async with open_page(live, ada) as page:
        for path in ("/settings/programs/", f"/settings/programs/{key.pk}"):
            await page.goto(live.url + path)
            await expect(page.locator("main h1")).to_be_visible()
            assert await violations_in_both_schemes(page) == ""


def test_the_proof_names_no_program_of_another(client, ada, own, stranger):
    key = connected(stranger)
    document = MemoryDocument.objects.get(space=own)
    keep_read(key, [(document, ["- Ada likes tea."])])
    done = forget(own, ["- Ada likes tea."], ada)
    client.force_login(ada)
    assert "Claude Code" not in client.get(f"/memory/forget/{done.pk}").content.decode()
