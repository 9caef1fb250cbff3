"""The main links: the same on all pages, and most of them in the account menu."""

import pytest
from playwright.async_api import expect

from tests.browser import DESKTOP, PHONE, fits, open_page, violations_in_both_schemes

pytestmark = pytest.mark.browser

MENU = [
    "All conversations",
    "Spaces",
    "Agents",
    "Prompts",
    "Skills",
    "Schedules",
    "Settings",
    "Keyboard shortcuts",
    "Sign out",
]


async def test_one_set_of_links_on_all_pages(live, ada, listed):
    async with open_page(live, ada) as page:
        for viewport in DESKTOP, PHONE:
            await page.set_viewport_size(viewport)
            for path in "/", "/memory/", "/settings/", "/conversations", "/agents/", "/prompts/":
                await page.goto(path)
                if path == "/":
                    await listed(page)
                main = page.get_by_role("navigation", name="Main")
                await expect(main.get_by_role("link", name="Memory")).to_be_visible()
                await expect(main.get_by_role("link", name="Settings")).to_be_hidden()
                await page.get_by_title("Account").click()
                await expect(page.locator("#account .menu__item")).to_have_text(MENU)
                await expect(main.get_by_role("link", name="Settings")).to_be_in_viewport(ratio=1)
                await expect(main.get_by_role("button", name="Sign out")).to_be_in_viewport(ratio=1)
                assert await fits(page)
                if path in ("/", "/settings/"):
                    assert await violations_in_both_schemes(page) == ""
                await page.keyboard.press("Escape")
                await expect(page.locator("#account")).to_be_hidden()
        await page.get_by_title("Account").click()
        await page.get_by_role("button", name="Keyboard shortcuts").click()
        await expect(page.get_by_role("dialog", name="Keyboard shortcuts")).to_be_visible()
