"""In a browser, an owner adds a model server, tries it and changes it, and a person asks its model."""

import os

import pytest
from playwright.async_api import expect

from oneclaw.llm.upstreams import servers
from oneclaw.models import Group, ModelServer, User
from oneclaw.people import roles
from oneclaw.threads import in_database
from tests.browser import DESKTOP, PHONE, fits, open_page, violations_in_both_schemes
from tests.scripted import ScriptedModel, answer

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
PASSWORD = "correct horse battery"


@pytest.fixture
def owner(scripted, settings):
    settings.TITLES = False
    settings.OUTGOING_NETWORKS = ["127.0.0.1"]
    Group.objects.create(name="Research")
    person = User.objects.create_user("owner@example.org", PASSWORD, timezone_chosen=True)
    roles.set_role(person, User.Role.OWNER)
    person.save()
    return person


async def test_an_owner_adds_a_server_and_a_person_asks_its_model(live, ada, owner):
    with ScriptedModel(default=lambda body: answer("I am the llama.")) as far:
        async with open_page(live, owner, expect=["422"]) as page, open_page(live, ada) as adas:
            await page.goto("/team/models/")
            await page.get_by_role("link", name="Add a server").click()
            await page.get_by_label("Password").fill(PASSWORD)
            await page.get_by_role("button", name="Confirm").click()
            await page.get_by_label("Name", exact=True).fill("home")
            await page.get_by_label("Address").fill("ftp://elsewhere")
            await page.get_by_label("Key", exact=True).fill("its key")
            await page.get_by_label("One model in each line").fill("llama, Llama at home, 0/0")
            await page.get_by_role("button", name="Save").click()
            await expect(page.get_by_text("Write an address such as")).to_be_visible()
            await looks_well(page)
            # What was typed is still there, but for the key.
            await page.get_by_label("Address").fill(far.url)
            await page.get_by_label("Key", exact=True).fill("its key")
            await page.get_by_role("button", name="Save").click()
            await expect(page.get_by_text("Saved. Everybody has it within seconds.")).to_be_visible()
            assert "its key" not in await page.content()
            await page.get_by_role("button", name="Try it").click()
            await expect(page.get_by_text("home has answered as llama after")).to_be_visible()
            await looks_well(page)
            await in_database(servers.of_rows.forget)
            await adas.goto("/")
            await adas.get_by_label("Model").select_option("Llama at home")
            await adas.get_by_label("Message", exact=True).fill("Who are you?")
            await adas.keyboard.press("Enter")
            await expect(adas.get_by_text("I am the llama.").first).to_be_visible()
            await page.get_by_label("In use").uncheck()
            await page.get_by_role("button", name="Save").click()
            await page.goto("/team/models/")
            await expect(page.locator(".kept__row", has_text="home")).to_contain_text("not in use")
            await looks_well(page)
            await page.get_by_role("link", name="home").click()
            if shots := os.environ.get("SHOTS"):
                await page.screenshot(path=shots, full_page=True)
            await page.get_by_role("button", name="Remove the server").click()
            await expect(page.get_by_text("The server was removed.")).to_be_visible()
    assert not await in_database(ModelServer.objects.exists)


async def looks_well(page):
    """Check the page at both widths and in both schemes."""
    for size in (PHONE, DESKTOP):
        await page.set_viewport_size(size)
        assert await fits(page)
        assert not await violations_in_both_schemes(page)
