"""Two people in a browser: one proposes a line to the space, the other edits and accepts it by keys."""

import pytest

from memory.documents.write import Append, Author, Source, apply
from memory.models import Proposal
from memory.tools.proposals import propose
from oneclaw.models import Space, SpaceMember, User
from oneclaw.threads import in_database
from tests.browser import DESKTOP, PHONE, fits, open_page, violations_in_both_schemes

pytestmark = pytest.mark.browser


def kitchen_of(ada):
    bob = User.objects.create_user("bob@example.org", "correct horse battery", first_name="Bob")
    space = Space.objects.create(owner=ada, kind=Space.Kind.TEAM, name="Kitchen")
    for person, role in ((ada, "owner"), (bob, "editor")):
        SpaceMember.objects.create(space=space, user=person, role=role)
    apply(space, "MEMORY.md", Append("- The kitchen opens at nine.\n"), Author(Source.PAGE, ada))
    apply(Space.objects.own_of(bob), "MEMORY.md", Append("- Bob is on holiday in May.\n"), Author(Source.PAGE, bob))
    propose(space, "Deliveries come on Tuesday mornings.", bob, Proposal.Kind.WRITTEN)
    return space, bob


@pytest.mark.parametrize("viewport", [DESKTOP, PHONE], ids=["desktop", "phone"])
async def test_a_line_is_proposed_and_accepted(live, ada, viewport, tmp_path):
    space, bob = await in_database(kitchen_of, ada)
    async with open_page(live, bob, viewport=viewport) as page:
        await page.goto("/memory/")
        await page.locator(".entry__menu summary").click()
        await page.get_by_role("link", name="Propose").click()
        await page.get_by_label("Space", exact=True).select_option("Kitchen")
        assert await violations_in_both_schemes(page) == ""
        assert await fits(page)
        await page.get_by_role("button", name="Propose").click()
        await page.get_by_text("Another owner or editor decides.").wait_for()
        await page.goto(f"/memory/?space={space.pk}")
        await page.get_by_text("Take back").first.wait_for()
        assert await violations_in_both_schemes(page) == ""
        assert await fits(page)
    async with open_page(live, ada, viewport=viewport) as page:
        await page.goto("/memory/inbox/")
        await page.get_by_text("Bob is on holiday in May.").first.wait_for()
        await page.keyboard.press("e")
        await page.get_by_role("textbox").first.fill("Bob is on holiday until June.")
        assert await violations_in_both_schemes(page) == ""
        assert await fits(page)
        # It is sent when it can no longer be undone.
        async with page.expect_response("**/memory/proposals/*"):
            await page.get_by_role("button", name="Accept").first.click()
            await page.get_by_text("Saved to memory.").wait_for()
        await page.goto(f"/memory/?space={space.pk}")
        await page.locator(".entry").get_by_text("Bob is on holiday until June.").wait_for()
        await page.get_by_text("Bob, approved by you").wait_for()
