"""With JavaScript switched off: everything can be read, and the forms still work."""

import pytest
from playwright.async_api import expect

from tests import scripted as model
from tests.browser import PHONE, open_page

pytestmark = pytest.mark.browser


async def test_a_conversation_by_plain_forms(live, ada, scripted):
    scripted.script(model.answer(model.text("An **answer**.")))
    async with open_page(live, ada, java_script_enabled=False) as page:
        await page.goto("/")
        await page.get_by_label("Message", exact=True).fill("Hello\nthere")
        await page.get_by_role("button", name="Send").click()
        await expect(page.locator("article[data-role=user]")).to_have_text("Hello\nthere")
        for _ in range(20):
            await page.reload()
            if await page.locator("article[data-status=complete] strong").count():
                break
            await page.wait_for_timeout(100)
        await expect(page.locator("article[data-role=assistant] strong")).to_have_text("answer")
        # Said anew by a form, and back by an arrow.
        await page.locator("article[data-role=user]").get_by_role("link", name="Edit").click()
        await page.get_by_label("Message").fill("Another")
        await page.get_by_role("button", name="Send").click()
        await expect(page.locator("article[data-role=user] .message__body")).to_have_text("Another")
        while await page.locator("article[data-status=running]").count():
            await page.reload()
        await page.get_by_role("button", name="Earlier version").click()
        await expect(page.locator("article[data-role=user] .message__body")).to_have_text("Hello\nthere")
        await page.get_by_role("listitem").filter(has_text="Hello").hover()
        await page.get_by_role("link", name="More for “Hello”").click()
        await page.get_by_role("link", name="Rename").click()
        await page.get_by_label("Title").fill("Greetings")
        await page.get_by_role("button", name="Save").click()
        await expect(page.get_by_role("heading", level=1)).to_have_text("Greetings")
        await page.get_by_role("listitem").filter(has_text="Greetings").hover()
        await page.get_by_role("link", name="More for “Greetings”").click()
        await page.get_by_role("button", name="Delete").click()
        await expect(page.get_by_role("heading", level=1)).to_have_text("New conversation")
        await page.get_by_role("button", name="Undo").click()
        await expect(page.get_by_role("link", name="Greetings", exact=True)).to_be_visible()


async def test_what_cannot_be_sent_stays_in_the_composer(live, ada, scripted, settings):
    settings.MESSAGE_LENGTH = 10
    async with open_page(live, ada, java_script_enabled=False, expect=["422"]) as page:
        await page.goto("/")
        await page.get_by_label("Message", exact=True).fill("Much too long")
        await page.get_by_role("button", name="Send").click()
        await expect(page.get_by_text("at most 10 can be sent at once")).to_be_visible()
        await expect(page.get_by_label("Message", exact=True)).to_have_value("Much too long")


async def test_the_drawer_opens_all_the_same(live, ada):
    async with open_page(live, ada, java_script_enabled=False, viewport=PHONE) as page:
        await page.goto("/")
        await page.get_by_role("button", name="Show the list of conversations").click()
        await page.get_by_title("Account").click()
        await expect(page.get_by_role("link", name="Settings")).to_be_visible()
