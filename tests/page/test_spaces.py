"""Spaces in a browser: made, filled with people, talked in, and left."""

import pytest
from playwright.async_api import expect

from chat.models import ChatSession
from oneclaw.models import Space, SpaceInvitation
from oneclaw.people import space_invitations
from oneclaw.spaces import lifecycle, members
from oneclaw.threads import in_database
from tests.browser import DESKTOP, PHONE, fits, open_page, violations_in_both_schemes
from tests.scripted import answer

pytestmark = pytest.mark.browser


async def looks_right(page):
    for viewport in DESKTOP, PHONE:
        await page.set_viewport_size(viewport)
        assert await fits(page)
        assert await violations_in_both_schemes(page) == ""
    await page.set_viewport_size(DESKTOP)


async def test_a_space_is_made_filled_and_talked_in(live, ada, stranger, scripted, ask, listed):
    scripted.default = lambda body: answer("Every Friday.")
    async with open_page(live, ada, expect=["422"]) as page:
        await page.goto("/spaces/")
        await looks_right(page)
        await page.get_by_role("link", name="New space").click()
        await page.get_by_label("Name").fill("Engine room")
        await page.get_by_label("Description").fill("What we know of engines, and who looks after which.")
        await page.get_by_label("Color 4").check()
        await looks_right(page)
        await page.get_by_role("button", name="Make the space").click()
        await expect(page.locator("#main").get_by_text("No conversations yet.")).to_be_visible()
        await page.get_by_role("link", name="Members", exact=True).click()
        await page.get_by_label("Email").fill("nobody@example.org")
        await page.get_by_role("button", name="Invite").click()
        await expect(page.get_by_text("nobody@example.org")).to_be_visible()
        await page.get_by_role("button", name="Withdraw: nobody@example.org").click()
        await expect(page.get_by_text("nobody@example.org")).to_have_count(0)
        await page.get_by_label("Email").fill(stranger.email)
        await page.get_by_role("button", name="Invite").click()
        await expect(page.get_by_role("heading", name="Invited")).to_be_visible()
        await looks_right(page)
        invitation = await in_database(SpaceInvitation.objects.get)
        await in_database(space_invitations.accept, stranger, invitation.pk)
        await page.reload()
        await expect(page.get_by_role("combobox", name=f"Role {stranger}")).to_have_value("editor")
        await looks_right(page)
        await page.get_by_role("link", name="Who can see this?").click()
        await expect(page.get_by_text("Editor in “Engine room”")).to_be_visible()
        await looks_right(page)
        await page.get_by_role("link", name="Instructions").click()
        await page.get_by_label("How should OneClaw work in this space?").fill("Name the valve first.")
        await page.get_by_role("button", name="Save").click()
        await expect(page.get_by_text("Saved.")).to_be_visible()
        # A conversation that is begun here is in the space, and says so.
        space = await in_database(Space.objects.shared().get)
        await page.locator("#main").get_by_role("link", name="New conversation").click()
        await expect(page.get_by_label("Space", exact=True)).to_have_value(str(space.pk))
        await ask(page, "When do we oil?")
        mark = page.get_by_role("main").get_by_role("link", name="Engine room")
        await expect(mark).to_be_visible()
        await page.reload()
        await expect(page.get_by_label("Space", exact=True)).to_have_count(0)
        await looks_right(page)
        await mark.click()
        await expect(page.locator("#main").get_by_role("link", name="When do we oil?")).to_be_visible()
        await looks_right(page)
        # Moved out of it, it is private as before, and not listed here.
        await page.locator("#main").get_by_role("link", name="When do we oil?").click()
        await page.get_by_role("link", name="More for this conversation").click()
        await page.locator("#head-menu").get_by_text("Share …").click()
        await page.get_by_role("link", name="Move to a space …").click()
        await expect(page.get_by_text("Nothing becomes visible to others")).to_be_visible()
        await looks_right(page)
        await page.get_by_label("No space").check()
        await page.get_by_role("button", name="Move").click()
        await expect(page.get_by_text("When do we oil?").first).to_be_visible()
        await expect(mark).to_have_count(0)
        # The composer offers the spaces, and the sidebar lists them.
        await page.goto("/")
        await page.get_by_label("Space", exact=True).select_option("Engine room")
        await (await listed(page)).get_by_role("link", name="Engine room").click()
        await expect(page.get_by_role("heading", name="Engine room")).to_be_visible()
    session = await in_database(ChatSession.objects.get)
    assert session.space_id is None


async def test_who_is_removed_loses_the_space_on_the_open_page(live, ada, stranger, listed):
    def made():
        space = lifecycle.create(ada, lifecycle.checked_draft("Engine room"))
        return members.add_by_email(space, stranger.email, "reader")

    member = await in_database(made)
    async with open_page(live, stranger, expect=["404"]) as page:
        await page.goto("/")
        link = (await listed(page)).get_by_role("link", name="Engine room")
        await expect(link).to_be_visible()
        await in_database(members.remove, member)
        await expect(link).to_have_count(0)
        await page.goto(f"/spaces/{member.space_id}/")
        await expect(page.get_by_role("heading", name="Engine room")).to_have_count(0)
