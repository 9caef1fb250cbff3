"""Deleting a conversation says what of it stays in memory, and offers to forget that too."""

import pytest
from playwright.async_api import expect

from memory.documents.write import Append, Author, Source, apply
from memory.models import MemoryDocument
from oneclaw.models import Space
from oneclaw.threads import in_database
from tests.browser import open_page, violations
from tests.conversations import send, settle

pytestmark = pytest.mark.browser


@pytest.fixture
def remembered(live, ada):
    """A conversation from which two lines came into memory, besides one from elsewhere."""
    accepted = send(ada, "Remember that I like sage tea.")
    settle(accepted, "I will.")
    space, message = Space.objects.own_of(ada), accepted.message
    apply(space, "MEMORY.md", Append("- Elsewhere\n"), Author(Source.PAGE, ada))
    apply(space, "MEMORY.md", Append("- Likes sage tea.\n"), Author(Source.TOOL, ada, message_id=message.pk))
    notes = Append("## 14:05 Tea\n\n- Ada likes sage tea.\n")
    apply(space, "memory/2026-11-21.md", notes, Author(Source.FLUSH, ada, message_id=message.pk))
    return message.session_id


async def test_what_stays_in_memory_is_said_and_can_be_forgotten(live, ada, remembered):
    async with open_page(live, ada) as page:
        await page.goto(f"/c/{remembered}")
        await page.get_by_role("link", name="More for this conversation").click()
        await page.locator("#head-menu").get_by_role("button", name="Delete").click()
        toast = page.locator("#toast")
        await expect(toast).to_contain_text("Deleted. 2 lines from it stay in memory. Forget that too")
        await expect(toast.get_by_role("button", name="Undo")).to_be_visible()
        assert await violations(page) == ""
        await toast.get_by_role("link", name="Forget that too").click()
        lines = page.get_by_role("checkbox")
        await expect(lines).to_have_count(2)
        await expect(page.get_by_label("- Likes sage tea.")).to_be_checked()
        assert await violations(page) == ""
        await page.get_by_role("button", name="Show preview").click()
        await page.get_by_role("button", name="Forget").click()
        await expect(page.get_by_role("heading", level=1)).to_be_visible()
    contents = await in_database(lambda: "".join(MemoryDocument.objects.values_list("content", flat=True)))
    assert "- Elsewhere" in contents
    assert "sage" not in contents


async def test_a_search_for_what_to_forget_lists_only_lines_with_its_words(live, ada, remembered):
    async with open_page(live, ada) as page:
        await page.goto("/memory/forget")
        await page.get_by_role("searchbox").fill("sage")
        await page.keyboard.press("Enter")
        await expect(page.get_by_role("checkbox")).to_have_count(2)
        await expect(page.get_by_label("- Likes sage tea.")).to_be_checked()
        await expect(page.get_by_text("Elsewhere")).to_have_count(0)
        await expect(page.get_by_label("14:05 Tea")).to_have_count(0)
        assert await violations(page) == ""


def test_of_another_person_nothing_is_offered(client, stranger, remembered):
    client.force_login(stranger)
    assert "Likes sage" not in client.get("/memory/forget", {"conversation": str(remembered)}).content.decode()
    answer = client.post("/conversations/organise", {"do": "delete", "id": str(remembered)})
    assert answer.status_code == 302
    assert "in memory" not in client.get("/").content.decode()
