"""The documents page, in a browser: a file is dropped, read, searched by the model, and opened at the line."""

import pytest
from playwright.async_api import expect

from memory.library import reading
from memory.models import FileVersion
from oneclaw.threads import in_database
from tests import files
from tests import scripted as model
from tests.browser import DESKTOP, PHONE, fits, open_page
from tests.browser import violations_in_both_schemes as violations

pytestmark = pytest.mark.browser

DROP = """([name, bytes]) => {
    const data = new DataTransfer();
    data.items.add(new File([new Uint8Array(bytes)], name));
    const form = document.querySelector("[data-library]");
    for (const type of ["dragenter", "dragover", "drop"]) {
        form.dispatchEvent(new DragEvent(type, { dataTransfer: data, bubbles: true, cancelable: true }));
    }
}"""
PLAN = files.pdf(*["The harbour was closed in winter. " * 30] * 12, "Jasmine tea is stored in the cellar.")


def read_all():
    for pk in FileVersion.objects.due_ids():
        reading.run(pk)


async def is_fine(page):
    """It fits a desk and a phone, and axe finds nothing."""
    for size in (PHONE, DESKTOP):
        await page.set_viewport_size(size)
        assert await fits(page)
    assert await violations(page) == ""


async def test_a_dropped_file_is_read_found_by_the_model_and_opened_at_its_line(live, ada, scripted, ask):
    async with open_page(live, ada, expect=["422"]) as page:
        await page.goto("/memory/documents/")
        await expect(page.get_by_text("There are no documents yet.")).to_be_visible()
        await page.evaluate(DROP, ["plan.pdf", list(PLAN)])
        plan = page.locator(".library__file", has_text="plan.pdf")
        await expect(plan).to_contain_text("Waits to be read")
        chosen = [
            {"name": "cat.png", "mimeType": "image/png", "buffer": files.image()},
            {"name": "broken.pdf", "mimeType": "application/pdf", "buffer": b"%PDF-1.4"},
        ]
        await page.get_by_label("Choose files, or drop them here").set_input_files(chosen)
        await expect(page.get_by_text("“cat.png” is an image: the library reads texts.")).to_be_visible()
        await expect(page.locator(".library__file")).to_have_count(2)
        await in_database(FileVersion.objects.filter(file__name="plan.pdf").update, status="running", pages_read=7)
        await expect(plan).to_contain_text("Being read: 7 pages so far")
        await is_fine(page)
        await in_database(FileVersion.objects.filter(file__name="plan.pdf").update, status="queued")
        await in_database(read_all)
        # The list asks for itself while something is read.
        await expect(plan).to_contain_text("13 pages")
        await expect(page.locator(".library__bad")).to_have_text("Cannot be read. It is damaged.")
        await page.get_by_label("Search these documents").fill("Where is the jasmine tea stored?")
        await page.keyboard.press("Enter")
        await expect(page.locator(".memory__about").first).to_have_text("plan.pdf · page 13")
        await is_fine(page)
        scripted.script(
            model.answer(model.tool_use("documents_search", {"query": "Where is the jasmine tea stored?"})),
            model.answer("In the cellar."),
        )
        await page.goto("/")
        answer = await ask(page, "Where do we store the jasmine tea?")
        await answer.page.get_by_text("Searched documents").first.click()
        await page.get_by_role("link", name="Jasmine tea is stored in the cellar.").first.click()
        await expect(page.get_by_role("heading", name="Page 13 of 13")).to_be_visible()
        await expect(page.locator("mark")).to_have_text("Jasmine tea is stored in the cellar.")
        await is_fine(page)
        await page.get_by_role("link", name="Remove").click()
        await is_fine(page)
        await page.get_by_role("button", name="Remove").click()
        await expect(page.locator(".library__file")).to_have_count(1)


async def test_files_are_added_without_a_script(live, ada):
    async with open_page(live, ada, java_script_enabled=False) as page:
        await page.goto("/memory/documents/")
        await page.get_by_label("Choose files, or drop them here").set_input_files(
            {"name": "plan.md", "mimeType": "text/markdown", "buffer": b"Tea"}
        )
        await page.get_by_role("button", name="Add").click()
        await expect(page.get_by_text("1 file is added.")).to_be_visible()
        await expect(page.locator(".library__file")).to_have_count(1)
