"""A person who travels with an open page is asked once whether their timezone shall change."""

import pytest
from playwright.async_api import expect

from tests.browser import PHONE, fits, open_page, violations_in_both_schemes

pytestmark = pytest.mark.browser


async def test_a_traveller_is_asked_once(live, ada):
    async with open_page(live, ada, timezone_id="Asia/Tokyo", viewport=PHONE, has_touch=True) as page:
        await page.goto("/")
        question = page.get_by_text("This device is in Asia/Tokyo; your days begin in Europe/Zurich.")
        await expect(question).to_be_visible()
        assert await fits(page)
        assert await violations_in_both_schemes(page) == ""
        await page.get_by_role("button", name="Keep Europe/Zurich").tap()
        await expect(question).to_have_count(0)
        await page.reload()
        await expect(page.get_by_label("Message", exact=True)).to_be_visible()
        await page.wait_for_timeout(300)
        await expect(question).to_have_count(0)


async def test_by_a_yes_the_page_has_the_times_of_there(live, ada):
    async with open_page(live, ada, timezone_id="Asia/Tokyo") as page:
        await page.goto("/")
        await page.get_by_role("button", name="Change to Asia/Tokyo").click()
        await expect(page.locator("#main")).to_have_attribute("data-timezone", "Asia/Tokyo")
        await expect(page.get_by_text("This device is in")).to_have_count(0)
