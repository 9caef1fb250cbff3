"""Above the message field one chooses which memory is read, and adds a document of a library, on a desk and on a
phone."""

import os

import pytest
from django.utils import timezone
from playwright.async_api import expect

from chat.models import ChatSession
from memory.library import files as library
from memory.library import reading
from oneclaw.models import Space, SpaceMember
from oneclaw.spaces import lifecycle
from oneclaw.threads import in_database
from tests import scripted as model
from tests.browser import DESKTOP, PHONE, fits, open_page, violations_in_both_schemes

pytestmark = pytest.mark.browser

USUAL = ["Memory on", "Memory: read only", "Memory off", "Temporary: nothing is kept"]
SHOTS = os.environ.get("SHOTS_PICKER")


async def looked_at(page, name):
    """It fits a desk and a phone, and axe finds nothing."""
    for size in (PHONE, DESKTOP):
        await page.set_viewport_size(size)
        assert await fits(page)
        for scheme in ("dark", "light") if SHOTS else ():
            await page.emulate_media(color_scheme=scheme)
            await page.screenshot(path=f"{SHOTS}/{name}-{size['width']}-{scheme}.png")
    assert await violations_in_both_schemes(page) == ""


def make_team(ada):
    team = Space.objects.create(kind="team", name="Engine room", owner=ada)
    SpaceMember.objects.create(space=team, user=ada, role="owner")
    for name, space in (("Boiler rules.md", team), ("My list.md", Space.objects.own_of(ada))):
        reading.run(library.add(space, ada, name, b"The boiler is heated at six.").pk)
    return team


async def test_memory_and_a_document_are_chosen_for_a_message(live, ada, scripted, write):
    team = await in_database(make_team, ada)
    scripted.script(model.answer(model.text("At six.")), model.answer(model.text("Nothing.")))
    async with open_page(live, ada) as page:
        await page.goto("/")
        memory = page.get_by_label("Memory", exact=True)
        usual_in_space = ["Memory on: only mine", "Memory on: only the space’s"]
        await expect(memory.locator("option")).to_have_text(USUAL)
        await page.get_by_label("Space", exact=True).select_option("Engine room")
        await expect(memory.locator("option")).to_have_count(6)
        await memory.select_option("Memory on: only the space’s")
        await page.get_by_role("button", name="Add", exact=True).click()
        await page.get_by_role("button", name="Add a document").click()
        dialog = page.get_by_role("dialog", name="Add a document to your message")
        await expect(dialog.get_by_role("listitem")).to_have_count(2)
        await looked_at(page, "dialog")
        await dialog.get_by_label("Name").fill("rules")
        await expect(dialog.get_by_role("listitem")).to_have_count(1)
        await dialog.get_by_role("button", name="Boiler rules.md").click()
        await expect(page.locator(".chip", has_text="Boiler rules.md")).to_be_visible()
        await looked_at(page, "chip")
        await write(page, "When is the boiler heated?")
        await expect(page.locator("article", has_text="At six.")).to_have_count(1)
        session = await in_database(ChatSession.objects.get)
        assert (session.space_id, session.memory) == (team.pk, "space")
        assert "The boiler is heated at six." in str(scripted.messages[0].body["messages"])
        link = page.locator(".attached__file", has_text="Boiler rules.md")
        await expect(link).to_have_count(1)
        # The mode is fixed now; which memory is read is not.
        await expect(memory.locator("option")).to_have_text(["Memory on", *usual_in_space, "Memory off"])
        await memory.select_option("Memory off")
        await write(page, "And now?")
        await expect(page.locator("article", has_text="Nothing.")).to_have_count(1)
        await page.locator("[data-meter] a").click()
        await expect(page.get_by_text("Memory that is read: No memory")).to_be_visible()
        await looked_at(page, "context")
        await page.get_by_role("button", name="Close").click()
        await page.reload()
        await expect(memory).to_have_value("agent:none")
        await link.click()
        await expect(page.get_by_role("heading", name="Boiler rules.md")).to_be_visible()


async def test_after_a_refused_first_message_the_field_says_what_is_stored(live, ada, scripted, write):
    team = await in_database(make_team, ada)
    async with open_page(live, ada, expect=["409"]) as page:
        await page.goto("/")
        memory = page.get_by_label("Memory", exact=True)
        await page.get_by_label("Space", exact=True).select_option("Engine room")
        await memory.select_option("Memory on: only the space’s")
        await in_database(Space.objects.filter(pk=team.pk).update, archived_at=timezone.now())
        await write(page, "When is the boiler heated?")
        await expect(page.locator(".message__note")).to_contain_text("This space is no longer open to you")
        await page.get_by_label("Space", exact=True).select_option("No space")
        await expect(memory.locator("option")).to_have_text(USUAL)
        await memory.select_option("Temporary: nothing is kept")
        await page.get_by_role("button", name="Edit").click()
        await page.keyboard.press("Enter")
        await expect(page.locator("[data-mode-mark]")).to_have_text("Temporary: nothing is saved")
        await expect(page.locator("article[data-role=assistant]")).to_have_count(1)
        session = await in_database(ChatSession.objects.get)
        assert (session.mode, session.space_id) == ("temporary", None)


async def test_what_is_read_is_not_widened_by_another_space_or_a_restored_page(live, ada, scripted, write):
    await in_database(make_team, ada)
    await in_database(lambda: lifecycle.create(ada, lifecycle.checked_draft("Bridge", kind="team")))
    async with open_page(live, ada, expect=["ERR_INTERNET_DISCONNECTED", "htmx:"]) as page:
        await page.goto("/")
        memory, space = page.get_by_label("Memory", exact=True), page.get_by_label("Space", exact=True)
        await space.select_option("Engine room")
        await memory.select_option("Memory on: only mine")
        async with page.expect_response("**/memory-choice**"):
            await space.select_option("Bridge")
        await expect(memory).to_have_value("agent:own")
        await write(page, "Hello")
        await expect(page.locator("article[data-role=assistant][data-status=complete]")).to_have_count(1)
        assert (await in_database(ChatSession.objects.get)).memory == "own"
        # A message that waits for the network is restored with the page.
        await page.context.set_offline(True)
        await write(page, "Are you there?")
        await page.context.set_offline(False)
        await page.reload()
        await expect(page.locator("article[data-role=assistant][data-status=complete]")).to_have_count(2)
        await expect(memory).to_have_value("agent:own")
        assert (await in_database(ChatSession.objects.get)).memory == "own"
