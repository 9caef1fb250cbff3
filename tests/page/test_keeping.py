"""What a person keeps, in a browser, on a desk and on a phone: conversations, agents, prompts, their own settings."""

import json
import zipfile

import pytest
from playwright.async_api import expect

from chat.models import ChatSession
from memory.documents import write
from memory.documents.write import Append, Author, Source
from oneclaw.models import Space
from oneclaw.threads import in_database
from tests.browser import DESKTOP, PHONE, fits, open_page
from tests.conversations import send, settle

pytestmark = [pytest.mark.browser, pytest.mark.parametrize("viewport", [DESKTOP, PHONE], ids=["desk", "phone"])]
FIREFOX = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"


def as_held(viewport):
    """Options of a page: a phone is touched."""
    return {"viewport": viewport, "has_touch": viewport == PHONE}


@pytest.fixture
def two(live, ada):
    for title in ("Tea", "Water"):
        settle(send(ada, title), f"All about {title.lower()}.")


async def test_a_conversation_is_archived_filed_taken_along_and_shared(live, ada, two, listed, tmp_path, viewport):
    async with open_page(live, ada, **as_held(viewport)) as page, open_page(live, expect=["404"]) as visitor:
        tea = page.get_by_role("navigation").get_by_role("link", name="Tea", exact=True)
        menu = page.locator("#session-menu")

        async def open_menu():
            await listed(page)
            await tea.hover()
            await page.get_by_role("link", name="More for “Tea”").click()
            await expect(menu.get_by_role("button", name="Delete")).to_be_visible()

        async def saved(link):
            async with page.expect_download() as coming:
                await link.click()
            download = await coming.value
            await download.save_as(tmp_path / download.suggested_filename)
            return tmp_path / download.suggested_filename

        await page.goto("/")
        await open_menu()
        await menu.get_by_role("button", name="Archive").click()
        await expect(page.locator("#toast")).to_contain_text("Archived.")
        await expect(tea).to_have_count(0)
        await page.locator("#toast").get_by_role("button", name="Undo").click()
        await expect(page.locator("#toast")).to_contain_text("Unarchived.")
        await listed(page)
        await expect(tea).to_be_visible()

        await open_menu()
        await menu.get_by_text("Export …").click()
        exported = await saved(menu.get_by_role("link", name="Export as JSON"))
        assert exported.name.endswith(" Tea.json")
        assert "All about tea." in json.dumps(json.loads(exported.read_text()))
        assert "All about tea." in (await saved(menu.get_by_role("link", name="Export as Markdown"))).read_text()
        await menu.get_by_text("Move to a folder").click()
        await menu.get_by_label("New folder").fill("Kitchen")
        await menu.get_by_role("button", name="Move", exact=True).click()
        await expect(page.locator("details[data-folder]")).to_contain_text("Kitchen")

        await page.goto("/conversations")
        await page.get_by_label("Select all on this page").check()
        together = await saved(page.get_by_role("button", name="Export"))
        assert sorted(name.split()[1] for name in zipfile.ZipFile(together).namelist()) == ["Tea"] * 2 + ["Water"] * 2
        await page.get_by_role("link", name="Kitchen").click()
        await page.get_by_text("Rename or delete this folder").click()
        await page.get_by_label("Name").fill("Pantry")
        await page.get_by_role("button", name="Rename").click()
        await expect(page.get_by_role("heading", name="Pantry")).to_be_visible()
        assert await fits(page)
        await page.get_by_text("Rename or delete this folder").click()
        await page.get_by_role("button", name="Delete the folder").click()
        await expect(page.get_by_text("Folder deleted. Its conversations were kept.")).to_be_visible()
        await expect(page.get_by_role("link", name="Pantry")).to_have_count(0)

        await page.locator("#main").get_by_role("link", name="Tea", exact=True).click()
        await open_menu()
        await menu.get_by_text("Share …").click()
        await menu.get_by_role("link", name="Share by link").click()
        await page.get_by_role("button", name="Create link").click()
        address = await page.get_by_label("This link shows").input_value()
        await visitor.goto(address)
        await expect(visitor.get_by_text("All about tea.")).to_be_visible()
        assert await fits(page)
        await page.get_by_role("link", name="All shared links").click()
        await page.get_by_role("button", name="Revoke the link to “Tea”").click()
        await expect(page.get_by_text("You have no shared links.")).to_be_visible()
        await visitor.goto(address)
        await expect(visitor.get_by_role("heading", level=1)).to_have_text("Not found")
        assert await fits(page)


def remember(ada):
    write.apply(Space.objects.own_of(ada), "MEMORY.md", Append("- Ada likes jasmine tea."), Author(Source.PAGE, ada))


async def test_an_agent_and_a_prompt_are_made_used_changed_and_deleted(live, ada, scripted, ask, settings, viewport):
    settings.EMBEDDINGS = "none"
    await in_database(remember, ada)
    async with open_page(live, ada, **as_held(viewport)) as page:
        await page.goto("/agents/")
        await page.get_by_role("link", name="New agent").click()
        await page.get_by_label("Name").fill("Rhymer")
        await page.get_by_label("Instructions").fill("Rhyme.")
        await page.get_by_role("button", name="Save").click()
        await page.get_by_role("link", name="Rhymer", exact=True).click()
        await page.get_by_label("Instructions").fill("Rhyme in couplets.")
        assert await fits(page)
        await page.get_by_role("button", name="Save").click()

        await page.goto("/prompts/")
        await page.get_by_label("Name").fill("report")
        await page.get_by_label("Text").fill("Write the report.")
        await page.get_by_role("button", name="Save").click()
        await page.get_by_role("link", name="/report").click()
        await page.get_by_label("Text").fill("Write the report in verse.")
        assert await fits(page)
        await page.get_by_role("button", name="Save").click()
        await expect(page.get_by_text("Write the report in verse.")).to_be_visible()

        await page.goto("/agents/")
        await page.get_by_role("link", name="Start a conversation with Rhymer").click()
        text = page.get_by_label("Message", exact=True)
        # As soon as the script looks after it.
        await expect(text).to_have_attribute("aria-controls", "commands")
        await text.press_sequentially("/rep")
        await page.get_by_role("option", name="/report").click()
        await expect(text).to_have_value("Write the report in verse.")
        answer = await ask(page, "Write the report in verse.")
        await expect(page.locator("[data-agent-mark]")).to_have_text("Rhymer")
        assert any("Rhyme in couplets." in json.dumps(asked.body["system"]) for asked in scripted.requests)
        # The memory that was used.
        await answer.hover()
        await answer.get_by_role("link", name="Details").click()
        details = page.get_by_role("dialog", name="Answer")
        await details.get_by_text("MEMORY.md").click()
        await expect(details.get_by_text("Ada likes jasmine tea.")).to_be_visible()
        assert await fits(page)
        conversation = page.url
        await details.get_by_role("link", name="Open").click()
        await expect(page.get_by_role("heading", level=1)).to_have_text("MEMORY.md")

        await page.goto("/prompts/")
        await page.get_by_role("link", name="/report").click()
        await page.get_by_role("button", name="Delete this prompt").click()
        await expect(page.get_by_role("heading", name="New prompt")).to_be_visible()
        await expect(page.get_by_text("/report", exact=True)).to_have_count(0)
        await page.goto("/agents/")
        await page.get_by_role("link", name="Rhymer", exact=True).click()
        await page.get_by_role("link", name="Delete this agent").click()
        await expect(page.get_by_text("Its 1 conversation is kept and can be continued.")).to_be_visible()
        assert await fits(page)
        await page.get_by_role("button", name="Delete").click()
        await expect(page.get_by_role("heading", level=1)).to_have_text("Agents")
        await expect(page.get_by_text("Rhymer")).to_have_count(0)
        await page.goto(conversation)
        await ask(page, "Once more")
        await expect(page.locator("[data-agent-mark]")).to_have_text("Rhymer")
    assert await in_database(ChatSession.objects.count) == 1


async def test_the_settings_of_a_person_hold_on_every_page(live, ada, viewport):
    async with open_page(live, ada, **as_held(viewport)) as page, open_page(live, user_agent=FIREFOX) as elsewhere:
        await elsewhere.goto("/settings/")
        await elsewhere.get_by_label("Email").fill("ada@example.org")
        await elsewhere.get_by_label("Password").fill("correct horse battery")
        await elsewhere.keyboard.press("Enter")
        await expect(elsewhere.get_by_role("heading", name="Your devices")).to_be_visible()
        await page.goto("/settings/")
        await page.get_by_role("button", name="Sign out: Firefox, Linux").click()
        await expect(page.get_by_role("button", name="Sign out: Firefox, Linux")).to_have_count(0)
        await elsewhere.reload()
        await expect(elsewhere).to_have_title("Sign in – OneClaw")

        brightness = "Math.max(...getComputedStyle(document.body).backgroundColor.match(/[0-9.]+/g).slice(0, 3))"
        assert await page.evaluate(brightness) > 200
        await page.get_by_label("Appearance").select_option("Dark")
        await page.get_by_label("Language").select_option("Deutsch")
        await page.get_by_role("button", name="Save").click()
        await expect(page.get_by_role("heading", level=1)).to_have_text("Einstellungen")
        assert await page.evaluate(brightness) < 60
        assert await fits(page)
        await page.goto("/")
        await expect(page.get_by_role("heading", level=1)).to_have_text("Neues Gespräch")
        await expect(page.locator("html")).to_have_attribute("lang", "de")
        assert await page.evaluate(brightness) < 60
        assert await fits(page)
