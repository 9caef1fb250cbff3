"""Small numbers in an answer say what it rests on, and open the line or the page."""

import pytest
from playwright.async_api import expect

from memory.documents.write import Append, Author, Source, apply
from memory.index.documents import index_document
from memory.library import files as library
from memory.library import reading
from oneclaw.models import Space
from oneclaw.threads import in_database
from tests import files
from tests import scripted as model
from tests.browser import DESKTOP, PHONE, fits, open_page
from tests.browser import violations_in_both_schemes as violations

pytestmark = pytest.mark.browser

PAGES = files.pdf(*["The harbour was closed in winter. " * 30] * 12, "Jasmine tea is stored in the cellar.")


def remember(person):
    space = Space.objects.own_of(person)
    text = "## Monday\n\n- The ferry to Naxos leaves at seven."
    index_document(apply(space, "memory/2026-11-03.md", Append(text), Author(Source.PAGE, person)).document_id)
    reading.run(library.add(space, person, "plan.pdf", PAGES).pk)


@pytest.mark.parametrize("viewport", [DESKTOP, PHONE], ids=["desktop", "phone"])
async def test_a_number_opens_the_line_and_another_the_page(live, ada, scripted, ask, settings, viewport):
    settings.EMBEDDINGS = "none"
    await in_database(remember, ada)
    scripted.script(
        model.answer(model.tool_use("documents_search", {"query": "Where is the jasmine tea?"})),
        model.answer(
            model.text(
                "The ferry leaves at seven [m1-1]. The tea is in the cellar [d2-1], not [m9-9].", pace=0.05, size=3
            )
        ),
    )
    async with open_page(live, ada, viewport=viewport, has_touch=viewport == PHONE) as page:
        await page.goto("/")
        # What is seen while the answer grows.
        await page.evaluate(
            """() => {
                window.seen = [];
                const look = () => {
                    const last = [...document.querySelectorAll(".message--assistant .prose p")].at(-1);
                    if (last) window.seen.push(last.textContent);
                };
                new MutationObserver(look).observe(document.body, { childList: true, subtree: true });
            }"""
        )
        await ask(page, "When does my ferry to Naxos leave, and where is the tea?")
        answer = page.locator("article[data-role=assistant]").last
        await expect(answer).to_contain_text("not [m9-9].")
        seen = await page.evaluate("window.seen")
        assert [text for text in seen if "[m1" in text or "[d" in text] == []
        line = answer.get_by_role("link", name="Source 1: memory/2026-11-03.md, line 3")
        plan = answer.get_by_role("link", name="Source 2: plan.pdf, page 13")
        await expect(line).to_have_text("1")
        await expect(answer).to_contain_text("“The ferry to Naxos leaves at seven.” 3 November · and 1 more")
        assert await fits(page)
        assert await violations(page) == ""
        await page.reload()
        await plan.click()
        await page.wait_for_url("**/memory/documents/*/?page=13*")
        await expect(page.locator(".library__named mark").first).to_be_visible()
        await page.go_back()
        await line.click()
        await page.wait_for_url("**/memory/*/#line-3")
