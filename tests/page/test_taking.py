"""In a browser: an import with a bar that shows how far it is, and a link that is shared and revoked."""

import asyncio
import threading

import pytest
from playwright.async_api import expect

from chat.models import ImportJob, Message
from chat.transfer.importing import jobs
from oneclaw.threads import in_database
from tests import scripted as model
from tests.browser import DESKTOP, PHONE, fits, open_page, violations_in_both_schemes
from tests.imports import as_json, as_zip, numbered

pytestmark = pytest.mark.browser


async def is_accessible(page):
    assert await violations_in_both_schemes(page) == ""
    assert await page.evaluate("document.documentElement.scrollWidth <= innerWidth")


async def test_an_import_shows_how_far_it_is_and_what_came(live, ada, monkeypatch):
    plant, may_go_on = jobs.create_session, threading.Event()

    def slowly(owner, conversation):
        if conversation.title == "Number 1":
            may_go_on.wait(20)
        return plant(owner, conversation)

    monkeypatch.setattr(jobs, "create_session", slowly)
    export = as_zip({"conversations.json": as_json([*numbered(3), {"title": "Odd"}])})
    async with open_page(live, ada) as page:
        await page.goto("/conversations")
        await page.get_by_role("link", name="Import from a file").click()
        chosen = {"name": "export.zip", "mimeType": "application/zip", "buffer": export}
        await page.get_by_label("File, at most").set_input_files(chosen)
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
        await expect(page.get_by_text("3 conversations were imported. 6 messages in total.")).to_be_visible()
        await expect(bar).to_have_count(0)
        await expect(page.locator(".job__failed")).to_have_text("1 conversation was not imported.")
        await page.get_by_text("Show details").click()
        await expect(page.get_by_text("“Odd”: its format is unknown.")).to_be_visible()
        await is_accessible(page)
        # Once more, on a phone: what is here is not doubled.
        await page.set_viewport_size(PHONE)
        await page.get_by_label("File, at most").set_input_files(chosen)
        await page.get_by_role("button", name="Import").click()
        await expect(bar).to_be_visible()
        assert await fits(page)
        await in_database(jobs.run, (await in_database(ImportJob.objects.latest, "created_at")).pk)
        await expect(page.get_by_text("3 already existed.")).to_be_visible()
        assert await fits(page)
        await page.set_viewport_size(DESKTOP)
        await page.goto("/")
        entry = page.get_by_role("navigation", name="Conversations").get_by_role("link", name="Number 2", exact=True)
        await entry.click()
        await expect(page.locator("article[data-role=assistant]")).to_have_text("Answer 2")


async def test_a_link_is_shared_and_revoked_on_a_phone(live, ada, scripted, ask):
    scripted.script(
        model.answer(model.text("I keep that."), model.tool_use("save_memory", {"content": "Ada likes tea."})),
        model.answer("**Tea** it is, $x^2$.\n\n```python\n" + "print(1)\n" * 40 + "```\n"),
    )
    visitor = {"viewport": PHONE, "expect": ["404"], "permissions": ["clipboard-read", "clipboard-write"]}
    async with open_page(live, ada, viewport=PHONE) as page, open_page(live, **visitor) as other:
        await page.goto("/")
        await ask(page, "Remember tea")

        async def menu():
            await page.get_by_role("button", name="Show the list of conversations").click()
            await page.get_by_role("link", name="More for “Remember tea”").click()
            for part in "Share …", "Export …":
                await page.locator("#session-menu").get_by_text(part).click()
            return page.locator("#session-menu")

        await (await menu()).get_by_role("link", name="Share by link").click()
        await expect(
            page.get_by_text("Content from memory, thinking, tool calls and attached files are left out")
        ).to_be_visible()
        await is_accessible(page)
        await page.get_by_label("Expires after").select_option("1 day")
        await page.get_by_role("button", name="Create link").click()
        address = await page.get_by_label("This link shows").input_value()
        await is_accessible(page)
        await other.goto(address)
        await expect(other.get_by_role("heading", level=1)).to_have_text("Remember tea")
        await expect(other.get_by_text("Content from memory was left out.")).to_have_count(1)
        await expect(other.locator("article strong")).to_have_text("Tea")
        await expect(other.get_by_role("link")).to_have_count(1)  # past the head, to the content
        assert "Ada likes tea" not in await other.content()
        # Formulas and code are what they are in the chat.
        await expect(other.locator(".math--set .katex")).to_have_count(1)
        code = other.locator(".code-box")
        assert (await code.locator("pre").bounding_box())["height"] < 400
        await code.get_by_text("Show all 40 lines").click()
        assert (await code.locator("pre").bounding_box())["height"] > 600
        await code.get_by_role("button", name="Copy this code").click()
        await expect(other.locator("[data-announcer]")).to_have_text("Copied.")
        assert (await other.evaluate("navigator.clipboard.readText()")).startswith("print(1)\nprint(1)")
        await is_accessible(other)
        await page.get_by_role("link", name="Back to the conversation").click()
        async with page.expect_download() as exported:
            await (await menu()).get_by_role("link", name="Export as Markdown").click()
        assert (await exported.value).suggested_filename.endswith(" Remember tea.md")
        await page.reload()
        await (await menu()).get_by_role("button", name="Stop sharing").click()
        await expect(page.get_by_text("Link revoked.")).to_be_visible()
        await other.goto(address)
        await expect(other.get_by_role("heading", level=1)).to_have_text("Not found")
        await is_accessible(other)
        assert await in_database(Message.objects.count) == 4
