"""The home page of memory in a browser: an entry is edited, confirmed, deleted and forgotten in its row."""

import datetime as dt
from unittest import mock

import pytest
from django.test import Client
from django.utils import timezone
from playwright.async_api import expect

from memory.documents import write as documents
from memory.documents.write import Append, Author, Replace, Source
from memory.models import MemoryDocument, Review, Topic, content_hash
from oneclaw.models import Space
from oneclaw.threads import in_database
from tests.browser import DESKTOP, PHONE, open_page
from tests.browser import violations_in_both_schemes as violations

pytestmark = pytest.mark.browser

LINES = "- Works at Nordwind\n- Works on Aurora\n- Likes green tea\n- My sister lives in Lisbon\n"


def filled(ada):
    space = Space.objects.own_of(ada)
    documents.apply(space, "MEMORY.md", Append(LINES), Author(Source.TOOL, ada))
    for days_ago in range(0, 200, 3):
        path = f"memory/{ada.day() - dt.timedelta(days=days_ago)}.md"
        documents.apply(space, path, Append("- noted\n" * (days_ago % 7 + 1)), Author(Source.FLUSH, ada))
    document = MemoryDocument.objects.get(space=space, path="MEMORY.md")
    Review.objects.create(document=document, kind=Review.Kind.STILL_TRUE, line_hash=content_hash("- Works at Nordwind"))


def content():
    return MemoryDocument.objects.get(path="MEMORY.md").content


def row_of(page, text):
    return page.locator(".entry").filter(has_text=text)


async def test_an_entry_is_changed_where_it_is_shown(live, ada):
    await in_database(filled, ada)
    async with open_page(live, ada) as page:
        await page.goto("/memory/")
        for size in (DESKTOP, PHONE):
            await page.set_viewport_size(size)
            assert await page.evaluate("document.documentElement.scrollWidth <= innerWidth")
            assert await violations(page) == ""
        await page.set_viewport_size(DESKTOP)
        # Edit: the form takes the focus, the row comes back with its new words.
        await page.get_by_role("link", name="Edit Likes green tea").click()
        field = page.get_by_role("textbox", name="Text")
        await expect(field).to_be_focused()
        assert await violations(page) == ""
        await page.get_by_role("button", name="Cancel").click()
        await expect(row_of(page, "Likes green tea")).to_be_visible()
        await page.get_by_role("link", name="Edit Likes green tea").click()
        await field.fill("- Likes white tea")
        await page.get_by_role("button", name="Save").click()
        changed = row_of(page, "Likes white tea")
        await expect(changed.get_by_role("status")).to_have_text("Saved.")
        await expect(changed).to_be_focused()
        # Still true: the row says when.
        await page.get_by_role("button", name="Still true Likes white tea").click()
        await expect(row_of(page, "Likes white tea")).to_contain_text("still true on")
        # A line above was deleted; the rows below still mean their own lines.
        await page.get_by_role("link", name="Edit Works on Aurora").click()
        await page.get_by_role("button", name="Delete").click()
        await expect(page.get_by_text("Deleted.")).to_be_visible()
        await page.get_by_role("link", name="Edit My sister lives in Lisbon").click()
        await expect(field).to_have_value("- My sister lives in Lisbon")
        await field.fill("- My sister lives in Porto")
        await page.get_by_role("button", name="Save").click()
        await expect(row_of(page, "Porto")).to_be_visible()
        assert await in_database(content) == "- Works at Nordwind\n- Likes white tea\n- My sister lives in Porto\n"
        # Forget: after a question that says what goes.
        await page.get_by_role("link", name="Forget My sister lives in Porto").click()
        await expect(page.get_by_text("Forget this for good?")).to_be_visible()
        await expect(page.get_by_role("button", name="Cancel")).to_be_focused()
        assert await violations(page) == ""
        await page.get_by_role("button", name="Forget permanently").click()
        await expect(page.get_by_text("Forgotten.")).to_be_visible()
        await expect(row_of(page, "Porto")).to_have_count(0)


def topic_of(ada, words):
    client = Client()
    client.force_login(ada)
    return next(topic for topic in Topic.values if words in client.get(f"/memory/topics/{topic}").content.decode())


async def test_esc_closes_the_form_of_an_entry(live, ada):
    await in_database(filled, ada)
    document = await in_database(MemoryDocument.objects.get, path="MEMORY.md")
    topic = await in_database(topic_of, ada, "Likes green tea")
    async with open_page(live, ada) as page:
        await page.goto(f"/memory/topics/{topic}")
        field = page.get_by_role("textbox", name="Text")
        await page.get_by_role("link", name="Edit Likes green tea").click()
        await field.fill("- Likes")
        await page.keyboard.press("Escape")
        await expect(field).to_have_count(0)
        await expect(row_of(page, "Likes green tea")).to_be_visible()
        # And on the page of its own, which leads back.
        await page.goto(f"/memory/{document.pk}/entries/3?version={document.version}&next=/memory/files")
        await field.press("Escape")
        await page.wait_for_url("**/memory/files")
        assert "Likes green tea" in await in_database(content)


async def test_what_waits_about_a_line_leads_to_its_item_and_back(live, ada):
    await in_database(filled, ada)
    async with open_page(live, ada, viewport=PHONE, has_touch=True) as page:
        await page.goto("/memory/")
        await expect(page.get_by_role("link", name="1 thing waits for you in the inbox")).to_be_visible()
        for act in await page.locator(".entry__acts > *").all():
            box = await act.bounding_box()
            assert box["height"] >= 44
            assert box["width"] >= 44
        await row_of(page, "Works at Nordwind").get_by_role("link", name="Is this still true?").click()
        item = page.locator("[data-inbox-item]")
        await expect(item).to_be_focused()
        await item.get_by_role("link", name="Works at Nordwind").click()
        await expect(page.locator("#line-1")).to_be_visible()
        await page.go_back()
        await item.get_by_role("link", name="Edit").click()
        await page.get_by_role("textbox", name="Text").fill("- Works at Südwind")
        await page.get_by_role("button", name="Save").click()
        await expect(page.get_by_text("Nothing is waiting for you.")).to_be_visible()


async def test_a_day_is_chosen_with_the_slider_and_a_line_of_then_comes_back(live, ada):
    def remember():
        space, now = Space.objects.own_of(ada), timezone.now()
        for days_ago, operation in ((18, Append("- Lives in Zurich\n")), (9, Replace("- Lives in Bern\n", 1))):
            with mock.patch("django.utils.timezone.now", return_value=now - dt.timedelta(days=days_ago)):
                documents.apply(space, "MEMORY.md", operation, Author(Source.TOOL, ada))

    await in_database(remember)
    async with open_page(live, ada) as page:
        await page.goto("/memory/past")
        slider = page.get_by_role("slider", name="Day")
        await expect(slider).to_be_visible()
        await slider.focus()
        await page.keyboard.press("Home")
        await page.wait_for_url("**day=*")
        await expect(page.get_by_text("+ - Lives in Bern")).to_be_visible()
        await expect(page.get_by_text("− - Lives in Zurich")).to_be_visible()
        for size in (DESKTOP, PHONE):
            await page.set_viewport_size(size)
            assert await page.evaluate("document.documentElement.scrollWidth <= innerWidth")
            assert await violations(page) == ""
        await page.get_by_role("region", name="Files at the end of").get_by_role("link", name="MEMORY.md").click()
        assert await violations(page) == ""
        await page.get_by_role("button", name="Restore line 1").click()
        await expect(page.get_by_text("The line is in the file again.")).to_be_visible()
        assert await in_database(content) == "- Lives in Bern\n- Lives in Zurich\n"
        await page.get_by_role("button", name="Restore this version").click()
        await expect(page.get_by_text("Restored.")).to_be_visible()
        assert await in_database(content) == "- Lives in Zurich\n"
