"""What the page says while nothing arrives: there is no network, or the model is silent."""

import pytest
from playwright.async_api import expect

from tests import scripted as model
from tests.browser import open_page, violations

pytestmark = pytest.mark.browser


async def test_offline_is_said_at_once_and_a_message_waits(live, ada, scripted, ask, write):
    # The list of conversations may be refreshed at that moment.
    async with open_page(live, ada, expect=["ERR_INTERNET_DISCONNECTED", "htmx:"]) as page:
        await page.goto("/")
        await ask(page, "One")
        connection = page.locator("[data-connection]")
        await page.context.set_offline(True)
        await expect(connection).to_have_text("You are offline", timeout=1000)
        await write(page, "Two")
        await expect(page.locator(".message--pending, article").last).to_contain_text("Waits for the connection")
        await page.context.set_offline(False)
        await expect(connection).to_be_empty()
        await expect(page.locator("article[data-role=user]")).to_have_text(["One", "Two"])
        await expect(page.locator("article[data-role=assistant]")).to_have_count(2)


async def test_a_silent_model_shows_after_three_seconds_that_it_still_works(live, ada, scripted, write):
    scripted.script(model.answer(model.text(["Well", " then."], pace=6)))
    async with open_page(live, ada) as page:
        await page.goto("/")
        await write(page, "Think long")
        working = page.locator(".working")
        await expect(page.locator("article[data-role=assistant]")).to_contain_text("Well")
        await expect(working).to_be_hidden()
        await expect(working).to_have_text("Still working … 3 s")
        said = await page.locator("[data-announcer] p", has_text="Still working").count()
        await expect(working).to_have_text("Still working … 4 s")
        assert await violations(page) == ""
        # A screen reader hears it once.
        await expect(page.locator("[data-announcer] p", has_text="Still working")).to_have_count(said)
        await expect(page.locator("article[data-role=assistant]")).to_have_text("Well then.")
        await expect(working).to_be_hidden()
