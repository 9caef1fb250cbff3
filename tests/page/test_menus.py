"""Menus and toasts keep out of the way: inside the window, and off the message field."""

import pytest
from playwright.async_api import expect

from tests.browser import DESKTOP, PHONE, open_page, violations

pytestmark = pytest.mark.browser

INSIDE = "e => { const { top, bottom } = e.getBoundingClientRect(); return top >= 0 && bottom <= innerHeight; }"

LAST_SHOWN = """all => {
    const edge = document.querySelector("#sessions").getBoundingClientRect().bottom;
    return all.findLastIndex((opener) => opener.getBoundingClientRect().bottom <= edge);
}"""


async def test_a_menu_at_the_end_of_the_window_stays_inside_when_it_is_unfolded(live, ada, many, listed):
    async with open_page(live, ada) as page:
        for viewport in DESKTOP, PHONE, {"width": 844, "height": 390}:
            await page.set_viewport_size(viewport)
            await page.goto("/")
            await listed(page)
            openers = page.locator(".session__more")
            # In one step: the list may be replaced meanwhile.
            last = await openers.evaluate_all(LAST_SHOWN)
            await openers.nth(last).dispatch_event("click")
            menu = page.locator("#session-menu")
            await expect(menu.get_by_role("button", name="Delete")).to_be_visible()
            assert await menu.evaluate(INSIDE)
            await menu.get_by_text("Move to a folder").click()
            await expect(menu.get_by_label("Folder", exact=True)).to_be_focused()
            assert await menu.evaluate(INSIDE)
            await expect(menu.get_by_role("button", name="Move")).to_be_in_viewport()
            assert await violations(page) == ""


async def test_a_toast_never_covers_the_message_field(live, ada, many, listed):
    async with open_page(live, ada) as page:
        for viewport in DESKTOP, PHONE:
            await page.set_viewport_size(viewport)
            await page.goto("/")
            await listed(page)
            await page.locator(".session__more").first.dispatch_event("click")
            pin = page.locator("#session-menu").locator("[value=pin], [value=unpin]")
            await pin.click()
            await expect(page.locator("#toast")).to_be_visible()
            toast = await page.locator("#toast").bounding_box()
            field = await page.locator("[data-composer]").bounding_box()
            assert toast["y"] + toast["height"] <= field["y"]
