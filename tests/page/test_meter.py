"""The token meter beneath the message field, its dialog, and the page of what the model sees, at both widths."""

import pytest
from playwright.async_api import expect

from tests import scripted as model
from tests.browser import DESKTOP, PHONE, fits, open_page, violations

pytestmark = pytest.mark.browser

NOT_CACHED = {"cache_creation_input_tokens": 0, "cache_read_input_tokens": 0}


@pytest.mark.parametrize("viewport", [DESKTOP, PHONE], ids=["desktop", "phone"])
async def test_the_ring_follows_the_answers_and_opens_what_the_model_sees(live, ada, scripted, ask, viewport):
    scripted.script(
        model.answer(model.text("Hello."), usage=NOT_CACHED | {"input_tokens": 42_000}),
        model.answer(model.text("Again."), usage=NOT_CACHED | {"input_tokens": 150_000}),
    )
    async with open_page(live, ada, viewport=viewport) as page:
        await page.goto("/")
        ring = page.locator(".meter")
        await expect(ring).to_have_count(0)
        await ask(page, "Which ferry?")
        await expect(ring).to_have_text("42 k of 200 k")
        await ask(page, "And back?")
        await expect(ring).to_have_text("150 k of 200 k")
        assert await fits(page)
        await ring.click()
        dialog = page.get_by_role("dialog", name="Context usage")
        await expect(dialog.get_by_text("of 200,000 tokens")).to_be_visible()
        assert await fits(page)
        await without_violations(page)
        await dialog.get_by_role("button", name="Close").click()
        await expect(ring).to_be_focused()
        await page.reload()
        await expect(ring).to_have_text("150 k of 200 k")
        await ring.press("Enter")
        await dialog.get_by_role("link", name="What the model sees").click()
        await expect(page.get_by_role("heading", level=1)).to_have_text("What the model sees")
        await page.locator("summary", has_text="Your message").first.click()
        await expect(page.locator(".sent__text:visible")).to_have_text("Which ferry?")
        assert await fits(page)
        await without_violations(page)
        await page.locator("#main").get_by_role("listitem").get_by_role("link").first.click()
        await expect(page.get_by_role("heading", level=1)).to_have_text("What the model was sent")
        assert await fits(page)
        await without_violations(page)


async def without_violations(page):
    for scheme in ("light", "dark"):
        await page.emulate_media(color_scheme=scheme)
        assert await violations(page) == ""


async def test_without_a_script_the_ring_leads_to_the_page(live, ada, scripted, ask):
    async with open_page(live, ada) as page:
        await page.goto("/")
        await ask(page, "Which ferry?")
        address = page.url
    async with open_page(live, ada, java_script_enabled=False) as page:
        await page.goto(address)
        await page.locator(".meter").click()
        await expect(page).to_have_url(f"{address}/context")
        await expect(page.get_by_text("of 200,000 tokens")).to_be_visible()
        await page.locator("summary", has_text="Your message").click()
        await expect(page.locator(".sent__text:visible")).to_have_text("Which ferry?")
        await page.locator("#main").get_by_role("listitem").get_by_role("link").first.click()
        await expect(page.get_by_text("This is exactly what was sent.")).to_be_visible()
