"""The main links: the same on all pages, and most of them in the account menu."""

import pytest
from playwright.async_api import expect

from tests.browser import DESKTOP, PHONE, fits, open_page, violations_in_both_schemes
from tests.conversations import send, settle

pytestmark = pytest.mark.browser

PLACES = ["New conversation", "Search", "Memory", "Spaces"]
MENU = ["Settings", "More", "Sign out"]


async def test_one_frame_around_all_pages(live, ada, listed):
    async with open_page(live, ada) as page:
        for viewport in DESKTOP, PHONE:
            await page.set_viewport_size(viewport)
            for path in "/", "/memory/", "/settings/", "/conversations", "/agents/", "/prompts/", "/spaces/", "/more":
                await page.goto(path)
                await listed(page)
                main = page.get_by_role("navigation", name="Main")
                await expect(main.get_by_role("link")).to_have_text(PLACES)
                await expect(page.locator("#sessions")).to_contain_text("All conversations")
                await page.get_by_title("Account").click()
                account = page.get_by_role("navigation", name="Account")
                await expect(account.locator(".menu__item")).to_have_text(MENU)
                await expect(account.get_by_role("link", name="Settings")).to_be_in_viewport(ratio=1)
                await expect(account.get_by_role("button", name="Sign out")).to_be_in_viewport(ratio=1)
                assert await fits(page)
                if path in ("/", "/settings/", "/more"):
                    assert await violations_in_both_schemes(page) == ""
                await page.keyboard.press("Escape")
                await expect(page.locator("#account")).to_be_hidden()
        await page.goto("/more")
        await page.get_by_role("button", name="Keyboard shortcuts").click()
        await expect(page.get_by_role("dialog", name="Keyboard shortcuts")).to_be_visible()


@pytest.fixture
def tea(live, ada):
    """A conversation of Ada's."""
    settle(send(ada, "Tea"), "Yes.")


async def test_conversations_are_managed_from_every_page(live, ada, tea):
    async with open_page(live, ada) as page:
        await page.goto("/memory/")
        row = page.locator(".session")
        await expect(row).to_have_count(1)
        await row.hover()
        await row.get_by_role("link", name="More").click()
        await page.get_by_role("button", name="Delete").click()
        await expect(page.locator("#toast")).to_contain_text("Undo")
        await expect(row).to_have_count(0)
        assert "memory" in (await page.title()).lower(), "the page keeps its own title"
        await page.locator("#toast").get_by_role("button", name="Undo").click()
        await expect(row).to_have_count(1)
        assert page.url.endswith("/memory/")
