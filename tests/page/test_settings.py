"""The settings in a browser: custom instructions as a form, the version, and what is new."""

import pytest
from playwright.async_api import expect

from memory.models import MemoryDocument
from oneclaw.config import release
from oneclaw.threads import in_database
from tests.browser import DESKTOP, PHONE, fits, open_page, violations_in_both_schemes

pytestmark = pytest.mark.browser


async def test_custom_instructions_and_what_is_new(live, ada, scripted, ask):
    async with open_page(live, ada, expect=["409"]) as page:
        for viewport, wish in (DESKTOP, "Answer in one sentence."), (PHONE, "Call me Countess."):
            await page.set_viewport_size(viewport)
            await page.goto("/settings/")
            assert await fits(page)
            await page.get_by_role("link", name="Custom instructions").click()
            field = page.get_by_label("What should OneClaw know about you, and how should it answer?")
            await field.fill(wish)
            assert await violations_in_both_schemes(page) == ""
            await page.get_by_role("button", name="Save").click()
            await expect(page.get_by_text("Saved. This applies to new conversations.")).to_be_visible()
            await expect(field).to_have_value(wish)
            await page.goto("/")
            await ask(page, "Hello")
            assert wish in str(scripted.requests[-1].body["system"])
        # A change from elsewhere is not overwritten.
        await page.goto("/memory/instructions")
        other = await page.context.new_page()
        await other.goto("/memory/instructions")
        await other.get_by_role("textbox").fill("From elsewhere.")
        await other.get_by_role("button", name="Save").click()
        await field.fill("Mine.")
        await page.get_by_role("button", name="Save").click()
        await expect(page.get_by_role("alert")).to_contain_text("changed in the meantime")
        await expect(field).to_have_value("Mine.")
        await expect(page.get_by_text("From elsewhere.")).to_be_visible()
        await page.get_by_role("button", name="Save").click()
        await expect(page.get_by_text("Saved.")).to_be_visible()
        await page.goto("/settings/")
        await expect(page.get_by_text(f"OneClaw {release.version()}")).to_be_visible()
        await page.get_by_role("link", name="What is new").click()
        await expect(page.get_by_role("heading", name="0.2.0")).to_be_visible()
        assert await fits(page)
        assert await violations_in_both_schemes(page) == ""
    assert (await in_database(MemoryDocument.objects.get, path="USER.md")).content == "Mine.\n"
