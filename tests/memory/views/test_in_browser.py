"""The memory pages in a real browser: read, opened, at every width and in both schemes."""

import io
import zipfile

import pytest

from memory.documents import write
from memory.documents.write import Append, Author, Replace, Source
from oneclaw.models import Space
from oneclaw.reasons import Reason, verbatim
from oneclaw.threads import in_database
from tests.browser import DESKTOP, PHONE, open_page, violations

pytestmark = pytest.mark.browser

MEMORY = (
    "# What I know\n\n- Ada likes *jasmine* tea.\n- `tea --hot`\n\n| cup | size |\n| --- | --- |\n| blue | 3 dl |\n"
)


def remember(ada):
    space = Space.objects.own_of(ada)
    write.apply(space, "MEMORY.md", Append(MEMORY), Author(Source.TOOL, ada, reason=Reason("change.saved")))
    write.apply(
        space, "MEMORY.md", Replace(MEMORY + "- More.\n", 1), Author(Source.ADMIN, reason=verbatim("Corrected"))
    )
    for day in range(1, 9):
        path = f"memory/2026-11-{day:02}.md"
        write.apply(space, path, Append("## 14:05 Tea\n\n- Notes."), Author(Source.FLUSH, ada))


@pytest.mark.parametrize(("scheme", "viewport"), [("light", DESKTOP), ("dark", PHONE)])
async def test_the_pages_can_be_read_by_everybody(live, ada, scheme, viewport):
    await in_database(remember, ada)
    async with open_page(live, ada, color_scheme=scheme, viewport=viewport) as page:
        await page.goto("/memory/files")
        assert await violations(page) == ""
        await page.get_by_role("link", name="MEMORY.md").click()
        await page.get_by_role("heading", name="History").wait_for()
        await page.get_by_text("Source", exact=True).click()
        await page.get_by_text("admin · Corrected").click()
        assert await page.get_by_text("+ - More.").is_visible()
        assert await violations(page) == ""
        await page.get_by_text("Line by line").click()
        await page.get_by_role("button", name="Delete line 3").wait_for()
        assert await violations(page) == ""
        await page.get_by_role("link", name="Edit", exact=True).click()
        await page.get_by_label("Text").fill("# Other\n")
        assert await violations(page) == ""
        await page.get_by_role("button", name="Save").click()
        await page.get_by_text("Saved.").wait_for()
        await page.get_by_text("memory page · Edited").click()
        await page.get_by_role("link", name="Undo this change").first.click()
        assert await violations(page) == ""
        await page.get_by_role("button", name="Undo").click()
        await page.get_by_text("Undone.").wait_for()
        assert await violations(page) == ""
        await page.get_by_role("link", name="Forget lines").click()
        await page.get_by_label("jasmine").check()
        assert await violations(page) == ""
        await page.get_by_role("button", name="Show preview").click()
        await page.get_by_role("button", name="Forget permanently").wait_for()
        assert await violations(page) == ""
        await page.get_by_role("button", name="Forget permanently").click()
        await page.get_by_role("link", name="Download the deletion record").wait_for()
        assert await violations(page) == ""
        wide = await page.evaluate("document.documentElement.scrollWidth - innerWidth")
        assert wide <= 0


async def test_a_zip_file_is_looked_at_and_imported(live, ada):
    await in_database(remember, ada)
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as packed:
        packed.writestr("workspace/MEMORY.md", MEMORY + "- From elsewhere.\n")
        packed.writestr("workspace/../up.md", "x")
    chosen = {"name": "mine.zip", "mimeType": "application/zip", "buffer": buffer.getvalue()}
    async with open_page(live, ada, viewport=PHONE) as page:
        await page.goto("/memory/files")
        await page.get_by_role("link", name="Import").click()
        await page.get_by_label("Zip file").set_input_files(chosen)
        assert await violations(page) == ""
        await page.get_by_role("button", name="Show preview").click()
        await page.get_by_text("+ - From elsewhere.").wait_for()
        assert await page.get_by_text("../up.md").is_visible()
        assert await violations(page) == ""
        assert await page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
        await page.get_by_role("button", name="Import this").click()
        await page.get_by_text("1 file is imported.").wait_for()
