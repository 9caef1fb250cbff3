"""A tool call is one quiet line that opens: what was asked and found in words, and JSON only behind Details."""

import pytest
from playwright.async_api import expect

from memory.documents.write import Append, Author, Source, apply
from memory.index.documents import index_document
from oneclaw.models import Space
from oneclaw.threads import in_database
from tests import scripted as model
from tests.browser import DESKTOP, PHONE, fits, open_page
from tests.browser import violations_in_both_schemes as violations

pytestmark = pytest.mark.browser

PARAGRAPH = (
    "The ferry to Naxos leaves at seven in the morning from the old harbour, and tickets are sold on board. " * 6
)


def remember(person):
    space = Space.objects.own_of(person)
    text = "- The ferry to Naxos leaves at seven.\n- Tickets for the ferry are sold on board.\n"
    index_document(apply(space, "memory/2026-11-03.md", Append(text), Author(Source.PAGE, person)).document_id)


def search(query):
    return model.tool_use("memory_search", {"query": query, "max_results": 2})


@pytest.mark.parametrize("viewport", [DESKTOP, PHONE], ids=["desktop", "phone"])
async def test_three_searches_take_less_room_than_a_paragraph(live, ada, scripted, ask, settings, viewport):
    settings.EMBEDDINGS = "none"
    await in_database(remember, ada)
    scripted.script(
        model.answer(search("ferry to Naxos")),
        model.answer(search("ferry tickets"), search("zebras")),
        model.answer(PARAGRAPH),
    )
    async with open_page(live, ada, viewport=viewport) as page:
        await page.goto("/")
        await ask(page, "Look it up")
        cards = page.locator(".card")
        await expect(cards).to_have_count(3)
        await page.locator("article[data-role=assistant] p", has_text="in the morning").wait_for()
        first, last = await cards.first.bounding_box(), await cards.last.bounding_box()
        paragraph = await page.locator("article[data-role=assistant] p").last.bounding_box()
        assert last["y"] + last["height"] - first["y"] < paragraph["height"]
        assert await fits(page)
        assert await violations(page) == ""
        line = cards.first.locator("summary").first
        await expect(line).to_contain_text("Searched memory")
        await expect(line).to_contain_text("Found 1 passage")
        await expect(cards.last).to_contain_text("Found nothing")
        # It opens by keyboard.
        await line.press("Enter")
        fields = cards.first.locator(".card__fields > div")
        await expect(fields).to_have_text(["Questionferry to Naxos", "At most2"])
        await expect(cards.first.locator("pre")).to_have_count(2)
        await expect(cards.first.locator("pre").first).to_be_hidden()
        assert await fits(page)
        assert await violations(page) == ""
        await cards.first.get_by_text("Details", exact=True).click()
        await expect(cards.first.locator("pre").first).to_contain_text('"query": "ferry to Naxos"')
        assert await violations(page) == ""
        # A row leads to the line.
        await cards.first.get_by_role("link", name="The ferry to Naxos leaves at seven.").click()
        await page.wait_for_url("**/memory/*/#line-1")
        await expect(page.locator("#line-1")).to_be_in_viewport()
