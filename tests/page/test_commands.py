"""Commands of the composer, in a browser."""

import pytest
from playwright.async_api import expect

from chat.models import ChatSession, SavedPrompt
from oneclaw.threads import in_database
from tests.browser import open_page

pytestmark = pytest.mark.browser


async def test_new_ends_the_conversation_and_begins_an_empty_one(live, ada, scripted, ask, write):
    async with open_page(live, ada) as page:
        await page.goto("/")
        await ask(page, "Hello")
        old = page.url
        await write(page, "/new")
        await expect(page.locator("article")).to_have_count(0)
        assert page.url != old
        await ask(page, "Hello again")
        await page.goto(old)
        await expect(page.locator("article")).to_have_count(2)
    sessions = await in_database(lambda: list(ChatSession.objects.order_by("created_at")))
    assert [session.ended_at is not None for session in sessions] == [True, False]


async def test_enter_of_an_input_method_inserts_no_prompt(live, ada, scripted):
    await in_database(SavedPrompt.objects.create, owner=ada, name="greet", text="Greet {{who}} for me.")
    async with open_page(live, ada) as page:
        await page.goto("/")
        text = page.get_by_label("Message", exact=True)
        await text.press_sequentially("/greet")
        await expect(page.get_by_role("option", name="greet")).to_be_visible()
        await text.dispatch_event("keydown", {"key": "Enter", "keyCode": 229})
        await expect(page.get_by_role("dialog", name="greet")).to_be_hidden()
        await page.keyboard.press("Enter")
        field = page.get_by_role("dialog", name="greet").get_by_label("who")
        await field.fill("花子")
        await field.dispatch_event("keydown", {"key": "Enter", "keyCode": 229})
        await expect(field).to_be_visible()
        await page.keyboard.press("Enter")
        await expect(text).to_have_value("Greet 花子 for me.")
