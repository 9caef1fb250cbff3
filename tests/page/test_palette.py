"""Search and commands by the keyboard."""

import pytest
from playwright.async_api import expect

from tests.browser import PHONE, open_page
from tests.conversations import send, settle

pytestmark = pytest.mark.browser


@pytest.fixture
def tea(live, ada):
    accepted = send(ada, "Which tea is good?")
    settle(accepted, "Camomile.")
    return accepted.message.session


async def test_by_the_keyboard_to_a_message(live, ada, tea):
    async with open_page(live, ada, expect=["500"]) as page:
        await page.goto("/")
        await page.keyboard.press("Control+k")
        palette = page.get_by_role("dialog", name="Search and commands")
        await expect(palette.get_by_role("link", name="New conversation")).to_be_visible()
        await expect(palette.get_by_role("link", name="Which tea is good?")).to_be_visible()
        await page.keyboard.type("camo")
        await expect(palette.get_by_role("link", name="New conversation")).to_be_hidden()
        await expect(palette.locator("mark")).to_have_text("Camo")
        # A screen reader hears how many, not all of them at each letter.
        await expect(palette.get_by_role("status")).to_have_text("1 found")
        await expect(palette.locator("[aria-live]")).to_have_count(0)
        await page.route("**/search?*", lambda route: route.fulfill(status=500))
        await page.keyboard.type("m")
        await expect(palette.get_by_role("status")).to_have_text("That did not work. Try again.")
        await page.unroute("**/search?*")
        await page.keyboard.press("Backspace")
        await expect(palette.get_by_role("status")).to_have_text("1 found")
        await page.keyboard.press("ArrowDown")
        await page.keyboard.press("Enter")
        await expect(page.get_by_role("heading", level=1)).to_have_text("Which tea is good?")
        await expect(page.get_by_text("Camomile.")).to_be_in_viewport()
        await page.locator("#title").click()
        await page.keyboard.press("?")
        await expect(page.get_by_role("dialog", name="Keyboard shortcuts")).to_be_visible()
        await page.keyboard.press("Escape")
        await page.keyboard.press("Control+Shift+o")
        await expect(page.get_by_role("heading", level=1)).to_have_text("New conversation")
        # In a field it is a letter.
        await page.get_by_label("Message", exact=True).press("?")
        await expect(page.get_by_label("Message", exact=True)).to_have_value("?")


async def test_by_touch_on_a_phone(live, ada, tea):
    async with open_page(live, ada, viewport=PHONE) as page:
        await page.goto("/")
        await page.get_by_role("button", name="Show the list of conversations").click()
        await page.get_by_role("link", name="Search").click()
        await page.get_by_label("Search conversations, or choose a command").fill("tea")
        palette = page.get_by_role("dialog", name="Search and commands")
        await palette.get_by_role("link", name="Which tea is good?").first.click()
        await expect(page.get_by_text("Camomile.")).to_be_visible()
