"""Search and commands by the keyboard."""

import pytest
from playwright.async_api import expect

from memory.documents import write
from memory.index.documents import index_document
from oneclaw.models import Space
from oneclaw.threads import in_database
from tests.browser import PHONE, open_page, violations
from tests.conversations import send, settle

pytestmark = pytest.mark.browser


@pytest.fixture
def tea(live, ada):
    accepted = send(ada, "Which tea is good?")
    settle(accepted, "Camomile.")
    return accepted.message.session


def remember(user, text):
    author = write.Author(write.Source.PAGE, user)
    made = write.apply(Space.objects.own_of(user), "MEMORY.md", write.Append(text), author)
    index_document(made.document_id)


async def test_by_the_keyboard_to_a_message(live, ada, tea):
    async with open_page(live, ada, expect=["500"]) as page:
        await page.goto("/")
        await page.keyboard.press("Control+k")
        palette = page.get_by_role("dialog", name="Search and commands")
        await expect(palette.get_by_role("link", name="New conversation")).to_be_visible()
        await expect(palette.get_by_role("link", name="Which tea is good?")).to_be_visible()
        # Conversations come before commands, and one Esc closes it, whatever the field holds.
        await expect(palette.get_by_role("heading")).to_have_text(["Recent conversations", "Commands"])
        await page.keyboard.type("tea")
        await page.keyboard.press("Escape")
        await expect(palette).to_be_hidden()
        await page.keyboard.press("Control+k")
        await expect(palette.get_by_label("Search conversations, or choose a command")).to_have_value("tea")
        await page.keyboard.type("camo")
        await expect(palette.get_by_role("link", name="New conversation")).to_be_hidden()
        await expect(palette.locator("mark")).to_have_text("Camo")
        # A screen reader hears how many, not all of them at each letter.
        await expect(palette.get_by_role("status")).to_have_text("1 found")
        await expect(palette.locator("[aria-live]")).to_have_count(0)
        await page.route("**/search?*", lambda route: route.fulfill(status=500))
        await page.keyboard.type("m")
        await expect(palette.get_by_role("status")).to_have_text("That did not work. Try again.")
        await page.unroute("**/search?*")
        await page.keyboard.press("Backspace")
        await expect(palette.get_by_role("status")).to_have_text("1 found")
        await page.keyboard.press("ArrowDown")
        await page.keyboard.press("Enter")
        await expect(page.get_by_role("heading", level=1)).to_have_text("Which tea is good?")
        await expect(page.get_by_text("Camomile.")).to_be_in_viewport()
        await page.locator("#title").click()
        await page.keyboard.press("?")
        await expect(page.get_by_role("dialog", name="Keyboard shortcuts")).to_be_visible()
        await page.keyboard.press("Escape")
        await page.keyboard.press("Control+Shift+o")
        await expect(page.get_by_role("heading", level=1)).to_have_text("New conversation")
        # In a field it is a letter.
        await page.get_by_label("Message", exact=True).press("?")
        await expect(page.get_by_label("Message", exact=True)).to_have_value("?")
        await page.get_by_label("Message", exact=True).press("Control+/")
        await expect(page.get_by_role("dialog", name="Keyboard shortcuts")).to_be_visible()
        await page.keyboard.press("Escape")
        await page.goto("/more")
        await page.get_by_role("button", name="Keyboard shortcuts").click()
        await expect(page.get_by_role("dialog", name="Keyboard shortcuts")).to_be_visible()
        assert await violations(page) == ""


async def test_on_every_page_to_a_line_of_memory_and_a_temporary_conversation(live, ada):
    lines = "".join(f"- Line {number}\n\n" for number in range(99))
    await in_database(remember, ada, f"{lines}- Camomile in the evening\n")
    async with open_page(live, ada) as page:
        await page.add_init_script("Object.defineProperty(navigator, 'platform', { value: 'MacIntel' })")
        palette = page.get_by_role("dialog", name="Search and commands")
        await page.goto("/settings/")
        await page.keyboard.press("?")
        await expect(page.get_by_role("dialog", name="Keyboard shortcuts")).to_contain_text("⌘ K")
        await page.keyboard.press("Escape")
        await page.keyboard.press("Meta+k")
        await page.keyboard.type("camo")
        await expect(palette.get_by_role("heading", name="Memory")).to_be_visible()
        assert await violations(page) == ""
        await palette.get_by_role("link", name="MEMORY.md").click()
        await expect(page.locator("li:target")).to_have_text("- Camomile in the evening Delete")
        await expect(page.locator("li:target")).to_be_in_viewport()
        await page.keyboard.press("Control+k")
        await page.keyboard.type("tempo")
        await page.keyboard.press("Enter")
        await expect(page.get_by_label("Memory", exact=True)).to_have_value("temporary:all")
        await expect(page.locator("[data-mode-mark]")).to_have_text("Temporary: nothing is saved")
        await expect(page.locator("[data-open-palette]")).to_have_attribute("data-key", "⌘ K")


async def test_by_touch_on_a_phone(live, ada, tea):
    async with open_page(live, ada, viewport=PHONE) as page:
        await page.goto("/")
        await page.get_by_role("button", name="Show the list of conversations").click()
        await page.get_by_role("link", name="Search").click()
        await page.get_by_label("Search conversations, or choose a command").fill("tea")
        palette = page.get_by_role("dialog", name="Search and commands")
        await palette.get_by_role("link", name="Which tea is good?").first.click()
        await expect(page.get_by_text("Camomile.")).to_be_visible()
