"""In a browser: an import with a bar that shows how far it is."""

import asyncio
import threading

import pytest
from playwright.async_api import expect

from chat.importing import jobs
from chat.models import ImportJob
from oneclaw.crossing import in_database
from tests.browser import open_page, violations
from tests.imports import as_json, as_zip, numbered

pytestmark = pytest.mark.browser


async def is_accessible(page):
    for scheme in ("light", "dark"):
        await page.emulate_media(color_scheme=scheme)
        assert await violations(page) == "", scheme
    assert await page.evaluate("document.documentElement.scrollWidth <= innerWidth")


async def test_an_import_shows_how_far_it_is_and_what_came(live, ada, monkeypatch):
    plant, may_go_on = jobs.plant, threading.Event()

    def slowly(owner, conversation):
        if conversation.title == "Number 1":
            may_go_on.wait(20)
        return plant(owner, conversation)

    monkeypatch.setattr(jobs, "plant", slowly)
    export = as_zip({"conversations.json": as_json([*numbered(3), {"title": "Odd"}])})
    async with open_page(live, ada) as page:
        await page.goto("/conversations")
        await page.get_by_role("link", name="Import from a file").click()
        await page.get_by_label("File, at most").set_input_files(
            {"name": "export.zip", "mimeType": "application/zip", "buffer": export}
        )
        await page.get_by_role("button", name="Import").click()
        bar = page.get_by_role("progressbar", name="export.zip")
        await expect(bar).to_be_visible()
        job = await in_database(ImportJob.objects.get)
        taken_in = asyncio.create_task(in_database(jobs.run, job.pk))
        await expect(bar).to_have_attribute("max", "4")
        await expect(bar).to_have_attribute("value", "1")
        await is_accessible(page)
        may_go_on.set()
        await taken_in
        await expect(page.get_by_text("3 conversations have come. 6 messages in all.")).to_be_visible()
        await expect(bar).to_have_count(0)
        await page.get_by_text("1 conversation was left aside").click()
        await expect(page.get_by_text("“Odd”: its format is not known.")).to_be_visible()
        await is_accessible(page)
        await page.goto("/")
        entry = page.get_by_role("navigation", name="Conversations").get_by_role("link", name="Number 2", exact=True)
        await entry.click()
        await expect(page.locator("article[data-role=assistant]")).to_have_text("Answer 2")
