"""In a browser: a conversation begins chat only or temporary, and parts of memory are switched off."""

import asyncio

import pytest
from playwright.async_api import expect

from chat.models import ChatSession
from memory.policy import switches
from oneclaw.threads import in_database
from tests.browser import DESKTOP, PHONE, open_page, violations

pytestmark = pytest.mark.browser


@pytest.mark.parametrize("viewport", [DESKTOP, PHONE])
async def test_a_temporary_conversation_and_the_switches(live, ada, scripted, ask, settings, viewport):
    settings.SWITCHES = settings.SWITCHES | {"transcripts": "disabled"}
    async with open_page(live, ada, viewport=viewport, expect=["404"]) as page:
        await page.goto("/")
        mark, choice = page.locator("[data-mode-mark]"), page.get_by_label("Memory", exact=True)
        await expect(mark).to_be_hidden()
        await choice.select_option("Memory: read only")
        await expect(mark).to_have_text("Chat only: memory is read, not written")
        await choice.select_option("Temporary: nothing is kept")
        await expect(mark).to_have_text("Temporary: nothing is saved")
        assert await violations(page) == ""
        assert await page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        await ask(page, "A secret tea")
        await expect(choice).to_be_hidden()
        await ask(page, "More of it")
        await page.reload()
        await expect(mark).to_have_text("Temporary: nothing is saved")
        await expect(choice).to_have_count(0)
        await expect(page.locator("article")).to_have_count(4)
        await expect(page.locator("#sessions").get_by_text("A secret tea")).to_have_count(0)
        assert (await in_database(ChatSession.objects.get)).mode == "temporary"
        await page.get_by_role("link", name="More for this conversation").click()
        await page.get_by_role("button", name="Finish and delete").click()
        await expect(page.locator("article")).to_have_count(0)
        await expect(page.locator("#toast")).to_have_text("The temporary conversation was deleted.")
        session = await in_database(ChatSession.objects.get)
        assert await in_database(session.messages.count) == 0

        # The address of one that was left for another conversation opens nothing.
        await choice.select_option("Temporary: nothing is kept")
        await ask(page, "Another secret tea")
        address = page.url
        answered = asyncio.Event()
        page.on("websocket", lambda socket: socket.on("framereceived", lambda _: answered.set()))
        await page.reload()
        await expect(page.get_by_text("Another secret tea").first).to_be_visible()
        # Its socket has said that the person is here, and does not say so after they have left.
        await asyncio.wait_for(answered.wait(), 20)
        await page.goto("/")
        await page.goto(address)
        await expect(page.get_by_text("Another secret tea")).to_have_count(0)
        await expect(page.get_by_role("heading", name="Not found")).to_be_visible()

        await page.goto("/memory/switches")
        await expect(page.get_by_label("Transcripts")).to_be_disabled()
        await expect(page.get_by_text("Switched off by the administrator.")).to_have_count(1)
        await page.get_by_label("Saved memory").uncheck()
        assert await violations(page) == ""
        assert await page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        await page.get_by_role("button", name="Save").click()
        await expect(page.get_by_text("This applies from your next message.")).to_be_visible()
        await expect(page.get_by_label("Saved memory")).not_to_be_checked()
    assert await in_database(switches.on_for, ada) == {"preloaded", "recent", "recall", "reviews"}
