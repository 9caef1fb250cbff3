"""The pages of skills and the completion of `$`, in a browser: on a desk and on a phone."""

import pytest
from playwright.async_api import expect

from memory.skills.catalogue import find_skill
from oneclaw.threads import in_database
from tests.browser import DESKTOP, PHONE, fits, open_page
from tests.browser import violations_in_both_schemes as violations
from tests.skills import own_skill, put, skill_text, state_of, unapproved_skill

pytestmark = pytest.mark.browser


def filled(ada):
    skill = own_skill(ada)
    put(skill.space, "release-notes/scripts/run.py", "print('a line that is long enough to be wider than a phone')")
    unapproved_skill(ada, "tax-letters", body="Always answer in rhymes.", allowed_tools="Bash(git log *) Read")
    unapproved_skill(ada, "wrong", description="x" * 1025)
    own_skill(ada, "recipes")


async def is_fine(page):
    """It fits a desk and a phone, and axe finds nothing."""
    for size in (PHONE, DESKTOP):
        await page.set_viewport_size(size)
        assert await fits(page)
    assert await violations(page) == ""


async def test_skills_are_written_approved_and_imported_on_their_pages(live, ada, tmp_path):
    await in_database(filled, ada)
    async with open_page(live, ada) as page:
        await page.goto("/")
        await page.get_by_title("Account").click()
        await page.locator("#account").get_by_role("link", name="More").click()
        await page.get_by_role("link", name="Skills").click()
        await expect(page.get_by_role("heading", name="Waiting for your approval")).to_be_visible()
        await is_fine(page)
        await page.get_by_role("link", name="tax-letters").click()
        await expect(page.locator("mark")).to_have_text("Always answer in rhymes.")
        await is_fine(page)
        await page.get_by_role("button", name="Approve").click()
        await expect(page.locator(".skill__state")).to_have_text("In use")
        await is_fine(page)
        await page.goto("/memory/skills/own/release-notes/")
        await expect(page.get_by_role("heading", name="Changed since you approved it")).to_be_visible()
        await is_fine(page)
        await page.goto("/memory/skills/own/wrong/")
        await expect(page.locator(".flash--error li")).to_contain_text("at most 1,024")
        await is_fine(page)
        await page.goto("/memory/skills/new")
        await is_fine(page)
        await page.get_by_label("Name").fill("piano")
        await page.get_by_label("Description").fill("Plans piano lessons.")
        await page.get_by_label("Instructions").fill("Begin with scales.")
        await page.get_by_role("button", name="Save").click()
        await expect(page.get_by_text("In use")).to_be_visible()
        await page.get_by_role("link", name="Edit").click()
        await is_fine(page)
        await page.goto("/memory/skills/import")
        await is_fine(page)
        folder = tmp_path / "garden"
        (folder / "references").mkdir(parents=True)
        (folder / "SKILL.md").write_text(skill_text("garden"))
        (folder / "references/plants.md").write_text("Roses")
        await page.get_by_label("Or a folder").set_input_files(folder)
        await page.get_by_role("button", name="Import").click()
        await expect(page.get_by_role("heading", name="Use this skill?")).to_be_visible()
        await expect(page.get_by_text("references/plants.md")).to_be_visible()
    skill = await in_database(find_skill, ada, "own", "garden")
    assert await in_database(state_of, ada, skill) == "waiting"


@pytest.mark.parametrize("viewport", [DESKTOP, PHONE], ids=["desk", "phone"])
async def test_a_dollar_sign_offers_skills_and_the_named_one_is_sent(live, ada, scripted, ask, viewport):
    await in_database(filled, ada)
    async with open_page(live, ada, viewport=viewport) as page:
        await page.goto("/")
        text = page.get_by_label("Message", exact=True)
        await expect(text).to_have_attribute("aria-controls", "commands")
        options = page.locator("[data-commands-list] [role=option]")
        await text.press_sequentially("Please use $")
        await expect(options).to_have_count(1)
        assert await violations(page) == ""
        await text.press_sequentially("x")
        await expect(options).to_have_count(0)
        await text.press("Backspace")
        await expect(options).to_have_count(1)
        await text.press("Escape")
        await expect(page.locator("[data-commands-list]")).to_be_hidden()
        await text.press_sequentially("rec")
        await expect(options).to_have_count(1)
        await text.press("Tab")
        await expect(text).to_have_value("Please use $recipes ")
        await ask(page, "Please use $recipes for six guests.")
    assert '<skill name="recipes">' in str(scripted.messages[-1].body["messages"])


async def test_an_amount_opens_no_list(live, ada, scripted):
    await in_database(filled, ada)
    async with open_page(live, ada) as page:
        await page.goto("/")
        text = page.get_by_label("Message", exact=True)
        await expect(text).to_have_attribute("aria-controls", "commands")
        await text.press_sequentially("It costs $100")
        await expect(page.locator("[data-commands-list]")).to_be_hidden()
