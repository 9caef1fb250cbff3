"""Under an answer one quiet line says what of memory it used; it opens, and what one says of a memory is kept."""

import pytest
from playwright.async_api import expect

from memory.documents.write import Append, Author, Source, apply
from memory.index.documents import index_document
from memory.models import LineFeedback
from oneclaw.models import Space
from oneclaw.threads import in_database
from tests import scripted as model
from tests.browser import DESKTOP, PHONE, fits, open_page
from tests.browser import violations_in_both_schemes as violations

pytestmark = pytest.mark.browser


def remember(person):
    space = Space.objects.own_of(person)
    for path, text in (
        ("MEMORY.md", "- Ada's sister lives in Lisbon."),
        ("memory/2026-11-03.md", "- The ferry to Naxos leaves at seven."),
    ):
        index_document(apply(space, path, Append(text), Author(Source.PAGE, person)).document_id)


@pytest.mark.parametrize("viewport", [DESKTOP, PHONE], ids=["desktop", "phone"])
async def test_the_line_opens_and_a_memory_is_called_outdated(live, ada, scripted, ask, settings, viewport):
    settings.EMBEDDINGS = "none"
    await in_database(remember, ada)
    scripted.script(
        model.answer(model.tool_use("save_memory", {"content": "Ada takes the ferry to Naxos."})),
        model.answer("At seven. Your sister in Lisbon could come along: she lives near the sea."),
    )
    async with open_page(live, ada, viewport=viewport, has_touch=viewport == PHONE) as page:
        await page.goto("/")
        await ask(page, "I take the ferry to Naxos. When does it leave?")
        line = page.locator(".answer-line summary")
        await expect(line).to_contain_text("“The ferry to Naxos leaves at seven.” 3 November · and 1 more")
        await expect(page.locator(".answer-line__saved")).to_have_count(0)
        assert await violations(page) == ""
        await line.press("Enter")
        rows = page.locator(".memory")
        await expect(rows).to_have_count(2)
        ferry = rows.filter(has_text="leaves at seven")
        await expect(ferry.get_by_role("link", name="Notes of 3 November 2026")).to_be_visible()
        await expect(ferry.get_by_role("link", name="Why was this found?")).to_be_visible()
        assert await fits(page)
        assert await violations(page) == ""
        await expect(ferry.get_by_role("button", name="Outdated")).to_be_hidden()
        await ferry.locator("summary").press("Enter")
        assert await fits(page)
        assert await violations(page) == ""
        await ferry.get_by_role("button", name="Outdated").click()
        await expect(ferry).to_contain_text("that this is outdated. It ranks lower in your searches.")
        assert await in_database(LineFeedback.objects.count) == 1
        await expect(ferry).to_be_focused()
        assert await fits(page)
        assert await violations(page) == ""
        await ferry.get_by_role("button", name="Undo").click()
        await expect(ferry.get_by_role("button", name="Helpful")).to_be_visible()
        assert await in_database(LineFeedback.objects.count) == 0
        # After a reload it opens as well, and leads to the line.
        await page.reload()
        await line.click()
        await ferry.get_by_role("link", name="Notes of 3 November 2026").click()
        await page.wait_for_url("**/memory/*/#line-1")


@pytest.mark.parametrize("viewport", [DESKTOP, PHONE], ids=["desktop", "phone"])
async def test_an_answer_is_rated_by_its_thumbs(live, ada, scripted, ask, viewport):
    async with open_page(live, ada, viewport=viewport, has_touch=viewport == PHONE) as page:
        await page.goto("/")
        answer = await ask(page, "Hello")
        good, bad = (answer.get_by_role("button", name=f"{name} answer") for name in ("Good", "Bad"))
        await good.click()
        await expect(good).to_have_attribute("aria-pressed", "true")
        await bad.click()
        dialog = page.get_by_role("dialog", name="What was bad about it?")
        await dialog.get_by_label("Reason").fill("Too short.")
        assert await fits(page)
        assert await violations(page) == ""
        await dialog.get_by_role("button", name="Send").click()
        await expect(dialog).to_be_hidden()
        await page.reload()
        await expect(bad).to_have_attribute("aria-pressed", "true")
        await expect(good).to_have_attribute("aria-pressed", "false")
        await bad.click()
        await expect(bad).to_have_attribute("aria-pressed", "false")
