"""Making room for a long conversation: the ring, the panel, the marker in the conversation, and the commands."""

import pytest
from playwright.async_api import expect

from chat.models import Message
from oneclaw.threads import in_database
from tests.browser import DESKTOP, PHONE, fits, open_page
from tests.browser import violations_in_both_schemes as violations
from tests.conversations import send, settle
from tests.page.test_polling import Blocked
from tests.scripted import answer, text
from tests.summaries import conversation, is_summary, make_rounds, replying, summarised, summary

pytestmark = pytest.mark.browser

WRITING = "A summary of earlier messages is being written."
READY = "A summary is ready. The model reads it from your next message on."
READS = "The model now reads a summary of what is above. All messages are kept."
ROOM = "Summarising earlier messages …"


@pytest.fixture
def session(live, ada, scripted):
    scripted.default = replying("Fine.")
    return conversation(ada)


@pytest.mark.parametrize("viewport", [DESKTOP, PHONE], ids=["desktop", "phone"])
async def test_a_person_makes_room_reads_corrects_and_undoes_the_summary(live, ada, session, ask, viewport):
    async with open_page(live, ada, viewport=viewport) as page:
        await page.goto(f"/c/{session.pk}")
        marker = page.locator("[data-round]")
        await page.locator(".meter").click()
        panel = page.get_by_role("dialog", name="Context usage")
        await panel.get_by_label("Focus on").fill("the ferries")
        assert await violations(page) == ""
        await panel.get_by_role("button", name="Summarise older messages now").click()
        await expect(panel.get_by_text(WRITING)).to_be_visible()
        assert await violations(page) == ""
        await in_database(make_rounds, session.pk)
        await expect(panel.get_by_text(READY)).to_be_visible()
        assert await fits(page)
        await panel.get_by_role("button", name="Close").click()
        await expect(marker.get_by_text(READY)).to_be_visible()
        await ask(page, "And now?")
        await expect(marker.get_by_text(READS)).to_be_visible()
        await marker.scroll_into_view_if_needed()
        assert await fits(page)
        assert await violations(page) == ""
        before = await marker.evaluate("(marker) => marker.previousElementSibling.dataset.role")
        assert before == "assistant"
        await marker.get_by_role("link", name="Summary").click()
        dialog = page.get_by_role("dialog", name="Summary")
        await expect(dialog.get_by_text("They talked.")).to_be_visible()
        await dialog.get_by_text("kept word for word: 2 names and numbers").click()
        await expect(dialog.get_by_text("AB-123", exact=True)).to_be_visible()
        assert await fits(page)
        assert await violations(page) == ""
        await dialog.get_by_role("button", name="Close").click()
        await marker.get_by_role("link", name="Edit").click()
        field = marker.get_by_label("Summary that the model reads")
        await expect(field).to_be_focused()
        assert await violations(page) == ""
        await marker.get_by_role("link", name="Cancel").click()
        await expect(marker.get_by_text(READS)).to_be_visible()
        await marker.get_by_role("link", name="Edit").click()
        await field.fill("Only the evening ferry counts.")
        await marker.get_by_role("button", name="Save").click()
        await expect(marker.get_by_text("changed by you")).to_be_visible()
        await expect(page.locator("#toast")).to_contain_text("Saved.")
        await page.reload()
        await expect(marker.get_by_text("changed by you")).to_be_visible()
        await page.goto(f"/c/{session.pk}/context")
        await expect(page.get_by_text("Only the evening ferry counts.")).to_have_count(1)
        assert await fits(page)
        assert await violations(page) == ""
        await page.goto(f"/c/{session.pk}")
        await marker.get_by_role("button", name="Undo").click()
        await expect(marker).to_have_count(0)
        await expect(page.locator("#toast")).to_contain_text("the messages again")
        await expect(page.locator("article")).to_have_count(10)


async def test_without_a_script_forms_and_pages_do_the_same(live, ada, session):
    async with open_page(live, ada, java_script_enabled=False, expect=["422"]) as page:
        await page.goto(f"/c/{session.pk}/context")
        await page.get_by_label("Focus on").fill("the ferries")
        await page.get_by_role("button", name="Summarise older messages now").click()
        await expect(page.locator("#toast")).to_contain_text(WRITING)
        await expect(page.locator("#make-room")).to_contain_text(WRITING)
        await in_database(make_rounds, session.pk)
        await page.goto(f"/c/{session.pk}")
        marker = page.locator("[data-round]")
        await expect(marker).to_contain_text(READY)
        await marker.get_by_role("link", name="Summary").click()
        await expect(page.get_by_text("They talked.")).to_be_visible()
        await page.get_by_role("link", name="Edit").click()
        field = page.get_by_label("Summary that the model reads")
        await field.fill("   ")
        await page.get_by_role("button", name="Save").click()
        await expect(page.get_by_text("The summary is empty: write something first.")).to_be_visible()
        await field.fill("Only the evening ferry counts.")
        await page.get_by_role("button", name="Save").click()
        await expect(marker).to_contain_text("changed by you")
        await marker.get_by_role("button", name="Undo").click()
        await expect(marker).to_have_count(0)
        await expect(page.locator("#toast")).to_contain_text("the messages again")
        await page.get_by_label("Message", exact=True).fill("/compact the harbour")
        await page.get_by_role("button", name="Send").click()
        await expect(page.locator("#toast")).to_contain_text(WRITING)
        await expect(page.locator("article")).to_have_count(8)


async def test_commands_are_answered_by_a_toast_and_store_nothing(live, ada, session, write):
    before = await in_database(Message.objects.count)
    async with open_page(live, ada) as page:
        toast, marker = page.locator("#toast"), page.locator("[data-round]")
        await page.goto("/")
        await write(page, "/compact ")
        await expect(toast).to_contain_text("There is too little to summarise")
        await expect(page.get_by_label("Memory", exact=True)).to_be_visible()
        await page.goto(f"/c/{session.pk}")
        await write(page, "/compact the harbour")
        await expect(toast).to_contain_text(WRITING)
        await expect(marker).to_contain_text(WRITING)
        await marker.scroll_into_view_if_needed()
        await marker.get_by_role("button", name="Stop").click()
        await expect(marker).to_have_count(0)
        await write(page, "/context ")
        await expect(page.get_by_role("dialog", name="Context usage")).to_be_visible()
        await page.keyboard.press("Escape")
        await write(page, "/undo-compact ")
        await expect(toast).to_contain_text("There is no summary that could be undone.")
        await expect(page.locator("article")).to_have_count(8)
    assert await in_database(Message.objects.count) == before


async def test_an_answer_that_waits_for_a_summary_says_so_and_can_be_stopped(live, ada, scripted, settings, write):
    settings.CONTEXT, settings.TITLES = 8_000, False

    def slow(body):
        return answer(text(summary("They talked.")), first_byte=3.0) if is_summary(body) else answer("Fine.")

    scripted.default = slow
    session = await in_database(lambda: conversation(ada, turns=10))
    async with open_page(live, ada) as page:
        await page.goto(f"/c/{session.pk}")
        await write(page, "And now?")
        await expect(page.get_by_text(ROOM)).to_be_visible()
        await expect(page.locator("[data-round]")).to_contain_text(WRITING)
        await page.get_by_label("New message").get_by_role("button", name="Stop").click()
        await expect(page.locator("article[data-status=stopped]")).to_be_visible()
        await expect(page.get_by_text(ROOM)).to_have_count(0)
        await write(page, "And then?")
        await expect(page.locator("article[data-status=complete]").last).to_contain_text("Fine.")
        await expect(page.get_by_text(ROOM)).to_have_count(0)
        await expect(page.locator("[data-round=used]")).to_contain_text(READS)


async def test_a_marker_among_earlier_messages_comes_with_them_and_without_a_socket(live, ada, scripted):
    session = await in_database(lambda: conversation(ada, turns=2))

    def grow():
        for number in range(40):
            settle(send(ada, f"Question {number}.", session.pk), f"Answer {number}.")
        session.refresh_from_db()

    await in_database(grow)
    round = await in_database(lambda: summarised(session))
    assert round.through.seq < 30
    async with open_page(live, ada) as page:
        await Blocked().lay(page)
        marker = page.locator("[data-round]")
        await page.goto(f"/c/{session.pk}")
        await expect(page.locator("article")).to_have_count(50)
        await expect(marker).to_have_count(0)
        await page.get_by_role("link", name="Earlier messages").click()
        await expect(page.locator("article")).to_have_count(84)
        await expect(marker).to_contain_text(READS)
        await marker.get_by_role("button", name="Undo").click()
        await expect(marker).to_have_count(0)
        await in_database(lambda: summarised(session))
        await expect(marker).to_contain_text(READS)
