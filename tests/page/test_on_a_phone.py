"""What is done at a desk with a pointer, done by touch on a phone."""

import pytest
from playwright.async_api import expect

from oneclaw import scripted as model
from tests.browser import PHONE, open_page, violations

pytestmark = pytest.mark.browser

USER, ANSWER = "article[data-role=user] .message__body", "article[data-role=assistant] .message__body"


async def fits(page):
    assert await page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert await violations(page) == ""


async def test_say_it_differently_queue_and_stop(live, ada, scripted, ask, write):
    scripted.script(
        *(model.answer(model.text(text)) for text in ("First.", "Second.", "Third.")),
        model.answer(model.text(["Long"] + [" words"] * 400, pace=0.05)),
        model.answer(model.text(" and the rest.")),
    )
    async with open_page(live, ada, viewport=PHONE, has_touch=True) as page:
        await page.goto("/")
        await ask(page, "One")
        mine, answer = page.locator("article[data-role=user]"), page.locator("article[data-role=assistant]")
        await mine.get_by_role("link", name="Edit").tap()
        await page.get_by_label("Edit your message").fill("Uno")
        await fits(page)
        await page.locator(".editing").get_by_role("button", name="Send").tap()
        await expect(page.locator(ANSWER)).to_have_text(["Second."])
        await expect(mine.locator(".versions__place")).to_have_text("2 / 2")
        await answer.get_by_role("button", name="Answer again").tap()
        await expect(page.locator(ANSWER)).to_have_text(["Third."])
        await answer.get_by_role("button", name="Earlier version").tap()
        await expect(page.locator(ANSWER)).to_have_text(["Second."])
        await mine.get_by_role("button", name="Earlier version").tap()
        await expect(page.locator(USER)).to_have_text(["One"])
        await fits(page)
        # What is sent meanwhile waits, and can be taken out again.
        await write(page, "Count")
        await expect(answer.last).to_contain_text("Long words")
        await write(page, "Never mind")
        await fits(page)
        await page.get_by_role("button", name="Remove").tap()
        await page.get_by_role("button", name="Stop").tap()
        await expect(answer.last).to_have_attribute("data-status", "stopped")
        await page.get_by_role("button", name="Continue").tap()
        await expect(answer.last).to_contain_text("and the rest.")
        await expect(page.locator(USER)).to_have_text(["One", "Count"])
        await fits(page)
