"""Every page passes axe, in light and dark, and can be used by keyboard."""

import pytest
from django.urls import URLResolver, get_resolver
from playwright.async_api import expect

from oneclaw import people
from oneclaw import scripted as model
from oneclaw.crossing import in_database
from tests.browser import PHONE, open_page
from tests.browser import violations as violations_now

pytestmark = pytest.mark.browser

NAME_OF_FOCUSED = """() => {
    const element = document.activeElement;
    if (element.hasAttribute("aria-labelledby")) {
        return document.getElementById(element.getAttribute("aria-labelledby")).textContent;
    }
    return element.ariaLabel || element.labels?.[0]?.textContent || element.textContent.trim();
}"""

ANSWER = (
    "# A plan\n\nWith [a link](https://example.org) and `code`.\n\n> Quoted.\n\n- [x] done\n- [ ] open\n\n"
    '| a | b |\n|---|--:|\n| 1 | 2 |\n\n```python\n@cache\ndef f(x: int) -> str:\n    """Doc."""\n'
    "    return f'{x:.2f}'  # why\n```\n\n```diff\n- old\n+ new\n```\n"
)


async def violations(page):
    """What is wrong with the page as it is now, in light or in dark."""
    found = ""
    for scheme in ("light", "dark"):
        await page.emulate_media(color_scheme=scheme)
        assert await page.evaluate("matchMedia('(prefers-color-scheme: dark)').matches") == (scheme == "dark")
        found += await violations_now(page)
    return found


async def test_every_door(live, db):
    first = await in_database(people.first_account_link, live.url)
    paths = ["/accounts/login/", "/accounts/signup/", "/accounts/password/reset/", first, "/welcome/MQ/x-y/"]
    async with open_page(live, expect=["410"]) as page:
        for path in paths:
            await page.goto(path)
            assert await violations(page) == "", path


def addresses(patterns=None, before="/"):
    """All addresses without a part to be filled in, as the product has them: a new page is looked at by itself."""
    for pattern in get_resolver().url_patterns if patterns is None else patterns:
        address = before + str(pattern.pattern)
        if isinstance(pattern, URLResolver):
            yield from addresses(pattern.url_patterns, address)
        elif not address.startswith(("/admin/", "/api/")) and not set("<^") & set(address):
            yield address


async def test_every_page_of_a_person(live, ada):
    pages = []
    async with open_page(live, ada, expect=["404"]) as page:
        await in_database(ada.refresh_from_db)
        for path in [*addresses(), "/nowhere", await in_database(people.invitation_link, ada, live.url)]:
            # Parts of pages, files, and data for programs are no pages.
            if (await (await page.request.get(path)).body()).lower().startswith(b"<!doctype html"):
                await page.goto(path)
                pages.append(path)
                await page.set_viewport_size({"width": 320, "height": 640})
                assert await page.evaluate("document.documentElement.scrollWidth <= innerWidth"), path
                await page.set_viewport_size({"width": 1280, "height": 720})
                assert await violations(page) == "", path
    wanted = {"/", "/settings/", "/agents/", "/agents/new", "/prompts/", "/conversations", "/import", "/shared"}
    wanted |= {"/search", "/memory/", "/memory/forget", "/memory/import", "/accounts/logout/", "/nowhere"}
    assert wanted <= set(pages)


async def test_the_chat_in_each_of_its_states(live, ada, scripted, ask, write, settings):
    scripted.script(
        model.answer(model.text("I keep that."), model.tool_use("save_memory", {"content": "Ada likes tea."})),
        model.answer(model.text(ANSWER)),
        model.key_refused(),
        model.answer(model.text(["One"] + [" more"] * 400, pace=0.1)),
    )
    async with open_page(live, ada) as page:
        await page.goto("/")
        assert await violations(page) == ""
        await ask(page, "Remember that I like tea")
        await page.get_by_text("What was asked").click()
        await ask(page, "And now?")
        assert await violations(page) == ""
        await write(page, "Count")
        await expect(page.locator("article[data-status=running]")).to_contain_text("One")
        # It is queued until the answer is finished.
        await write(page, "And then?")
        await expect(page.get_by_role("button", name="Remove")).to_be_visible()
        assert await violations(page) == ""
        settings.MESSAGE_LENGTH = 3
        await page.keyboard.press("Escape")
        await expect(page.locator("article[data-status=stopped]")).to_be_visible()
        await expect(page.locator(".message--refused")).to_be_visible()
        await page.locator(".session").first.hover()
        assert await violations(page) == ""
        await page.get_by_role("link", name="More for “").click()
        await page.get_by_text("Move to a folder").click()
        assert await violations(page) == ""
        await page.get_by_role("link", name="Rename").click()
        await expect(page.get_by_label("Title")).to_be_focused()
        assert await violations(page) == ""


async def test_the_drawer_and_the_hints(live, ada, settings):
    settings.ANTHROPIC_API_KEY = settings.ANTHROPIC_BASE_URL = settings.DEMO_URL = ""
    async with open_page(live, ada, viewport=PHONE) as page:
        await page.goto("/")
        assert await violations(page) == ""
        await page.get_by_role("button", name="Show the list of conversations").click()
        assert await violations(page) == ""
        settings.DEMO_URL = "http://127.0.0.1:1"
        await page.goto("/")
        assert await violations(page) == ""


async def test_the_keyboard_reaches_everything(live, ada, scripted, ask):
    async with open_page(live, ada) as page:
        await page.goto("/")
        await ask(page, "Tea")
        await page.locator(".skip-link").focus()
        reached = []
        for _ in range(26):
            reached.append(await page.evaluate(NAME_OF_FOCUSED))
            await page.keyboard.press("Tab")
        wanted = ["Skip to content", "OneClaw", "New conversation", "Search", "Tea", "More for “Tea”"]
        wanted += ["All conversations", "Memory", "Agents", "Prompts", "Settings", "Sign out", "End", "Messages"]
        fork = "Fork: go on from here in a new conversation"
        wanted += ["Copy", "Edit", fork, "Details"]
        wanted += ["Copy", "Answer again", "As it was written", fork, "Details", "Attach files", "Message", "Send"]
        assert reached == wanted


async def test_the_skip_link_leads_past_the_list(live, ada):
    async with open_page(live, ada) as page:
        await page.goto("/")
        await page.locator(".skip-link").press("Enter")
        await expect(page.locator("main")).to_be_focused()
