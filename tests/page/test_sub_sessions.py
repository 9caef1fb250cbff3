"""The card of a sub-session shows how it is, and opens and stops it; its page is read and not written in."""

import asyncio
import threading

import pytest
from playwright.async_api import expect

from chat.models import Message, SubTask
from oneclaw.threads import in_database
from tests import scripted as model
from tests.browser import PHONE, open_page, violations, violations_in_both_schemes
from tests.sub_sessions import Brain, spawn, until

pytestmark = [pytest.mark.browser, pytest.mark.usefixtures("session_tools")]


@pytest.fixture
def held():
    """What a sub-session waits for."""
    free = threading.Event()
    yield free
    free.set()


def slow(free):
    return until(free.is_set, "I count the birds: there are seven.")


@pytest.mark.parametrize("viewport", [None, PHONE], ids=["desktop", "phone"])
async def test_a_card_shows_a_sub_session_at_work_and_finished_also_after_a_reload(
    live, ada, scripted, write, held, viewport
):
    Brain(scripted, [spawn(wait=120), model.answer("Seven, it says.")], [slow(held)])
    async with open_page(live, ada, **({"viewport": viewport} if viewport else {})) as page:
        await page.goto("/")
        await write(page, "How many birds are there?")
        card = page.locator(".card")
        await expect(card).to_contain_text("A sub-session is at work")
        await expect(card.get_by_role("button", name="Stop")).to_be_visible()
        assert await violations(page) == ""
        await page.reload()
        await expect(card).to_contain_text("A sub-session is at work")
        held.set()
        await expect(card).to_contain_text("A sub-session has finished")
        await expect(card).to_contain_text("there are seven.")
        await expect(card.get_by_role("button", name="Stop")).to_have_count(0)
        await expect(page.locator("article").last).to_contain_text("Seven, it says.")
        assert await violations_in_both_schemes(page) == ""
        await card.get_by_role("link", name="Open").click()
        # Its page leads back, and has no field for messages.
        await expect(page.locator(".message--user")).to_contain_text("Count the birds.")
        await expect(page.get_by_text("A sub-session of")).to_be_visible()
        await expect(page.get_by_label("Message", exact=True)).to_be_hidden()
        await expect(page.get_by_role("button", name="Regenerate")).to_have_count(0)
        assert await violations_in_both_schemes(page) == ""
        await page.get_by_role("link", name="How many birds are there?").first.click()
        await expect(card).to_contain_text("A sub-session has finished")


async def test_a_sub_session_is_stopped_on_its_card_while_the_answer_goes_on(live, ada, scripted, write, held):
    Brain(scripted, [spawn(wait=120), model.answer("I could not find out.")], [slow(held)])
    async with open_page(live, ada) as page:
        await page.goto("/")
        await write(page, "How many birds are there?")
        card = page.locator(".card")
        await expect(card.get_by_role("button", name="Stop")).to_be_visible()
        written = Message.objects.filter(session__kind="sub", role="assistant", text__contains="More.")
        while not await in_database(written.exists):
            await asyncio.sleep(0.05)
        await card.get_by_role("button", name="Stop").click()
        await expect(card).to_contain_text("A sub-session was stopped")
        await expect(card).to_contain_text("More.")
        await expect(page.locator("article").last).to_contain_text("I could not find out.")
        assert await in_database(lambda: SubTask.objects.get().state) == "stopped"


async def test_a_card_turns_when_its_sub_session_ends_after_the_answer(live, ada, scripted, write, held):
    Brain(scripted, [spawn(wait=0), model.answer("I am on it.")], [slow(held)])
    async with open_page(live, ada) as page:
        await page.goto("/")
        await write(page, "Count the birds for me.")
        await expect(page.locator("article").last).to_contain_text("I am on it.")
        card = page.locator(".card")
        await expect(card).to_contain_text("A sub-session is at work")
        held.set()
        await expect(card).to_contain_text("A sub-session has finished")
        await expect(card).to_contain_text("there are seven.")
