"""The list of conversations in a browser: switching, renaming in place, deleting after a question, the drawer."""

import asyncio
import datetime as dt

import pytest
from django.utils import timezone
from playwright.async_api import expect

from chat.library import sidebar
from chat.models import ChatSession, default_agent
from tests import scripted as model
from tests.browser import DESKTOP, PHONE, fits, open_page, violations
from tests.conversations import send, settle

pytestmark = pytest.mark.browser


def entries(page):
    return page.get_by_role("navigation", name="Conversations").get_by_role("listitem")


async def test_a_new_conversation_enters_the_list_by_itself(live, ada, scripted, ask):
    async with open_page(live, ada) as page:
        await page.goto("/")
        await expect(page.get_by_text("No conversations yet.")).to_be_visible()
        await ask(page, "Tea for two")
        entry = entries(page).get_by_role("link", name="Tea for two", exact=True)
        await expect(entry).to_have_attribute("aria-current", "page")
        await expect(page.get_by_role("heading", level=1)).to_have_text("Tea for two")
        await expect(page).to_have_title("Tea for two – OneClaw")


async def test_switching_back_and_forth(live, ada, scripted, ask):
    async with open_page(live, ada) as page:
        await page.goto("/")
        await ask(page, "Tea")
        await page.get_by_role("link", name="New conversation").click()
        await ask(page, "Coffee")
        await entries(page).get_by_role("link", name="Tea", exact=True).click()
        await expect(page.locator("article[data-role=user]")).to_have_text("Tea")
        await page.go_back(wait_until="commit")
        await expect(page.locator("article[data-role=user]")).to_have_text("Coffee")
        await ask(page, "With milk")
        await page.go_forward(wait_until="commit")
        await expect(page.locator("article[data-role=user]")).to_have_text("Tea")
        await ask(page, "With sugar")
        await expect(page.locator("article[data-role=user]")).to_have_text(["Tea", "With sugar"])


async def test_an_answer_goes_on_while_one_looks_elsewhere(live, ada, scripted, ask, write):
    scripted.script(model.answer(model.text("Hello.")), model.answer(model.text(["One", " two", " three."], pace=0.4)))
    async with open_page(live, ada) as page:
        await page.goto("/")
        await ask(page, "Elsewhere")
        await page.goto("/")
        await write(page, "Count")
        await expect(page.locator("article[data-status=running]")).to_contain_text("One")
        await entries(page).get_by_role("link", name="Elsewhere", exact=True).click()
        await expect(page.locator("article[data-role=assistant]")).to_have_text("Hello.")
        await entries(page).get_by_role("link", name="Count", exact=True).click()
        await expect(page.locator("article[data-role=assistant]")).to_have_text("One two three.")


async def menu_of(page, title):
    """The menu of a conversation in the list."""
    await entries(page).filter(has=page.get_by_role("link", name=title, exact=True)).hover()
    await page.get_by_role("link", name=f"More for “{title}”").click()
    menu = page.locator("#session-menu")
    await expect(menu.get_by_role("button", name="Delete")).to_be_visible()
    return menu


async def test_renaming_in_place(live, ada, scripted, ask, listed):
    async with open_page(live, ada) as page:
        await page.goto("/")
        await ask(page, "Tea")
        await page.get_by_label("Message", exact=True).fill("A draft")
        await (await menu_of(page, "Tea")).get_by_role("link", name="Rename").click()
        title = page.get_by_label("Title")
        await expect(title).to_be_focused()
        await page.keyboard.press("Escape")
        await expect(title).to_have_count(0)
        await (await menu_of(page, "Tea")).get_by_role("link", name="Rename").click()
        await expect(title).to_be_focused()
        await page.keyboard.type("High tea")
        await page.keyboard.press("Enter")
        await expect(entries(page).get_by_role("link", name="High tea", exact=True)).to_be_visible()
        await expect(page.get_by_role("heading", level=1)).to_have_text("High tea")
        await expect(page).to_have_title("High tea – OneClaw")
        await expect(page.get_by_label("Message", exact=True)).to_have_value("A draft")
        # In the drawer of a phone.
        await page.set_viewport_size(PHONE)
        await listed(page)
        await (await menu_of(page, "High tea")).get_by_role("link", name="Rename").click()
        await title.fill("Low tea")
        await title.press("Enter")
        await expect(entries(page).get_by_role("link", name="Low tea", exact=True)).to_be_visible()
        await expect(page.get_by_role("heading", level=1)).to_have_text("Low tea")
        assert await fits(page)


async def test_a_title_being_written_is_not_taken_away_by_news(live, ada, scripted, ask):
    async with open_page(live, ada) as page:
        await page.goto("/")
        await ask(page, "Tea")
        await (await menu_of(page, "Tea")).get_by_role("link", name="Rename").click()
        await page.get_by_label("Title").fill("High t")
        other = await page.context.new_page()
        await other.goto("/")
        await ask(other, "Coffee")
        await expect(page.get_by_label("Title")).to_have_value("High t")
        await page.keyboard.press("Enter")
        await expect(entries(page).get_by_role("link", name="Coffee", exact=True)).to_be_visible()
        await expect(entries(page).get_by_role("link", name="High t", exact=True)).to_be_visible()
        # Who presses something when the sign-in has ended is led to sign in, also by a key that only takes back.
        await (await menu_of(page, "Coffee")).get_by_role("link", name="Rename").click()
        await expect(page.get_by_label("Title")).to_be_focused()
        await page.context.clear_cookies()
        await page.keyboard.press("Escape")
        await expect(page).to_have_title("Sign in – OneClaw")


@pytest.mark.parametrize("first", ["title", "news"])
async def test_news_that_was_asked_for_before_leaves_the_title_that_is_written(live, ada, three, first):
    async with open_page(live, ada) as page:
        await page.goto("/")
        come = {"title": asyncio.Event(), "news": asyncio.Event()}

        async def late(route):
            response = await route.fetch()
            await come["news" if "/sessions?" in route.request.url else "title"].wait()
            await route.fulfill(response=response)

        menu = await menu_of(page, "Tea")
        await page.route("**/sessions?*", late)
        await page.route("**/rename?*", late)
        async with page.expect_request("**/sessions?*"), page.expect_request("**/rename?*"):
            await page.evaluate("document.body.dispatchEvent(new CustomEvent('sessions-changed'))")
            await menu.get_by_role("link", name="Rename").click()
        second = ({*come} - {first}).pop()
        for each in (first, second):
            async with page.expect_response("**/sessions?*" if each == "news" else "**/rename?*") as response:
                come[each].set()
            await (await response.value).finished()
        await page.get_by_label("Title").fill("High tea")
        await page.keyboard.press("Enter")
        await expect(entries(page).get_by_role("link", name="High tea", exact=True)).to_be_visible()


@pytest.mark.parametrize("viewport", [None, PHONE])
async def test_organising_one_by_its_menu(live, ada, scripted, ask, viewport):
    lost = ["500", "ERR_FAILED", "htmx:"]
    async with open_page(live, ada, expect=lost, **({"viewport": viewport} if viewport else {})) as page:

        async def menu(title):
            if viewport and not await page.locator("#sidebar").is_visible():
                await page.get_by_role("button", name="Show the list of conversations").click()
            return await menu_of(page, title)

        await page.goto("/")
        await ask(page, "Tea")
        # Neither a server that fails nor a network that is lost goes unsaid.
        told = page.locator("#toast")
        for fail in (lambda route: route.fulfill(status=500), lambda route: route.abort()):
            await page.route("**/organise", fail)
            await (await menu("Tea")).get_by_role("button", name="Pin").click()
            await expect(told).to_have_text("That did not work. Try again.")
            await told.evaluate("toast => { toast.hidden = true; toast.textContent = ''; }")
            await page.unroute("**/organise")
        await (await menu("Tea")).get_by_role("button", name="Pin").click()
        await expect(
            page.get_by_role("list", name="Pinned").get_by_role("link", name="Tea", exact=True)
        ).to_be_visible()
        opened = await menu("Tea")
        await opened.get_by_role("button", name="Unpin").click()
        await expect(page.get_by_text("Pinned", exact=True)).to_have_count(0)
        opened = await menu("Tea")
        await opened.get_by_text("Move to a folder").click()
        await opened.get_by_label("New folder").fill("Kitchen")
        await opened.get_by_role("button", name="Move", exact=True).click()
        folder = page.locator("details[data-folder]")
        await expect(folder).to_contain_text("Kitchen")
        # It holds what the page shows, so it is open.
        await expect(folder.get_by_role("link", name="Tea", exact=True)).to_be_visible()
        await (await menu("Tea")).get_by_role("button", name="Delete").click()
        await expect(page.get_by_role("heading", level=1)).to_have_text("New conversation")
        await page.get_by_role("button", name="Undo").click()
        await expect(page.get_by_text("Restored.")).to_be_visible()
        await expect(folder.locator("a", has_text="Tea").first).to_be_attached()
        # As it was left, it comes back.
        for is_open in (True, False):
            # The script has run.
            await expect(page.get_by_role("button", name="Send")).to_have_attribute("aria-disabled", "true")
            # In one step: news of what came back may replace the list at any moment.
            await page.locator("#sessions").evaluate("list => list.querySelector('[data-folder] > summary').click()")
            await page.reload()
            await expect(folder).to_have_js_property("open", is_open)


async def test_deleting_and_taking_it_back_by_the_keyboard(live, ada, three):
    async with open_page(live, ada) as page:
        await page.clock.install()
        await page.goto("/")
        await page.get_by_role("link", name="More for “Tea”").press("Enter")
        delete = page.locator("#session-menu").get_by_role("button", name="Delete")
        await expect(delete).to_be_visible()
        await delete.press("Enter")
        undo = page.get_by_role("button", name="Undo")
        # The way back is at hand, and stays as long as somebody is there.
        await expect(undo).to_be_focused()
        await page.clock.run_for(25_000)
        await expect(undo).to_be_visible()
        await undo.press("Enter")
        await expect(entries(page).get_by_role("link", name="Tea", exact=True)).to_be_focused()
        await expect(page.get_by_text("Restored.")).to_be_visible()
        await page.get_by_text("Restored.").hover()
        await page.clock.run_for(25_000)
        await expect(page.get_by_text("Restored.")).to_be_visible()
        await page.mouse.move(0, 0)
        await page.clock.run_for(11_000)
        await expect(page.get_by_text("Restored.")).to_be_hidden()


async def test_a_list_that_comes_late_does_not_lose_the_focus(live, ada, three):
    async with open_page(live, ada) as page:
        await page.goto("/")
        await page.get_by_role("link", name="More for “Tea”").press("Enter")
        taken_back = asyncio.Event()

        async def late(route):
            response = await route.fetch()
            await taken_back.wait()
            await route.fulfill(response=response)

        await page.route("**/sessions?*", late)
        async with page.expect_request("**/sessions?*"):
            await page.locator("#session-menu").get_by_role("button", name="Delete").press("Enter")
        undo = page.get_by_role("button", name="Undo")
        await expect(undo).to_be_focused()
        await undo.press("Enter")
        tea = entries(page).get_by_role("link", name="Tea", exact=True)
        await expect(tea).to_be_focused()
        async with page.expect_response("**/sessions?*"), page.expect_request("**/sessions?*"):
            taken_back.set()
        await expect(tea).to_be_focused()


async def test_the_menu_of_the_open_conversation_stands_in_its_head(live, ada, scripted, ask):
    async with open_page(live, ada, viewport=PHONE) as page:
        await page.goto("/")
        opener, menu = page.get_by_role("link", name="More for this conversation"), page.locator("#head-menu")
        await expect(opener).to_be_hidden()
        await ask(page, "Tea")
        await opener.click()
        await menu.get_by_text("Share …").click()
        await expect(menu.get_by_role("link", name="Share by link")).to_be_in_viewport()
        assert await violations(page) == ""
        await menu.get_by_role("link", name="Rename").click()
        await page.get_by_label("Title").fill("High tea")
        await page.keyboard.press("Enter")
        title, archived = page.get_by_role("heading", level=1), page.get_by_text("This conversation is archived.")
        await expect(title).to_have_text("High tea")
        await expect(archived).to_have_count(0)
        await opener.click()
        await menu.get_by_role("button", name="Archive").click()
        await expect(archived).to_be_visible()
        assert await violations(page) == ""
        assert await page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        await page.get_by_role("button", name="Undo").click()
        await expect(archived).to_have_count(0)
        await expect(title).to_have_text("High tea")
        await opener.click()
        await menu.get_by_role("button", name="Archive").click()
        await expect(archived).to_be_visible()
        await page.reload()
        await page.get_by_role("button", name="Unarchive").click()
        await expect(archived).to_have_count(0)
        await opener.click()
        await menu.get_by_role("button", name="Delete").click()
        await expect(title).to_have_text("New conversation")


async def test_an_answer_to_a_form_that_was_replaced_meanwhile_is_shown_whole(live, ada, three):
    async with open_page(live, ada) as page:
        await page.goto("/")
        menu, replaced = page.locator("#session-menu"), asyncio.Event()

        async def late(route):
            response = await route.fetch()
            await replaced.wait()
            await route.fulfill(response=response)

        await page.route("**/organise", late)
        await page.get_by_role("link", name="More for “Tea”").click()
        async with page.expect_request("**/organise"):
            await menu.get_by_role("button", name="Archive").click()
        await page.get_by_role("link", name="More for “Coffee”").click()
        await expect(menu.get_by_role("button", name="Archive")).to_be_visible()
        replaced.set()
        await expect(page.get_by_role("button", name="Undo")).to_be_visible()
        await expect(entries(page).get_by_role("link", name="Tea", exact=True)).to_have_count(0)


async def test_what_was_answered_elsewhere_is_marked_until_it_is_seen(live, ada, scripted, ask, listed):
    async with open_page(live, ada) as page:
        await page.goto("/")
        await ask(page, "Tea")
        other = await page.context.new_page()
        await other.goto("/")
        await ask(other, "Coffee")
        await expect(entries(other).filter(has_text="Coffee").get_by_text("unread")).to_have_count(0)
        coffee = entries(page).filter(has=page.get_by_role("link", name="Coffee", exact=True))
        await expect(coffee.get_by_text("unread")).to_have_count(0)
        # A page that nobody looks at has not shown anything.
        await other.evaluate("Object.defineProperty(document, 'hidden', { value: true })")
        await ask(other, "With milk")
        await expect(coffee.get_by_text("unread")).to_have_count(1)
        # The list says so at a desk as in the drawer of a phone.
        await expect(coffee.get_by_text("unread")).to_be_visible()
        await page.set_viewport_size(PHONE)
        await listed(page)
        await expect(coffee.get_by_text("unread")).to_be_visible()
        await coffee.get_by_role("link", name="Coffee", exact=True).click()
        await expect(page.get_by_role("heading", level=1)).to_have_text("Coffee")
        await expect(page.get_by_text("unread")).to_have_count(0)
        assert await fits(page)
        await page.set_viewport_size(DESKTOP)
        await expect(coffee).to_be_visible()
        await expect(page.get_by_text("unread")).to_have_count(0)


@pytest.fixture
def three(live, ada):
    for title in ("Tea", "Coffee", "Water"):
        settle(send(ada, title), "Well.")


async def test_many_at_once_on_the_page_of_all(live, ada, three):
    async with open_page(live, ada) as page:
        await page.goto("/conversations")
        await page.get_by_label("Select all on this page").check()
        await page.get_by_label("Select “Water”").uncheck()
        await page.get_by_role("button", name="Archive").click()
        await expect(page.get_by_text("2 conversations archived.")).to_be_visible()
        await expect(page.locator("#main").get_by_role("link", name="Water", exact=True)).to_be_visible()
        await expect(page.locator("#main").get_by_role("link", name="Tea", exact=True)).to_have_count(0)
        await page.locator("#main").get_by_role("link", name="Archived").click()
        await expect(page.locator("#main").get_by_role("link", name="Tea", exact=True)).to_be_visible()
        await page.set_viewport_size(PHONE)
        await page.get_by_label("Select all on this page").check()
        await page.get_by_role("button", name="Unarchive").click()
        await expect(page.get_by_text("2 conversations unarchived.")).to_be_visible()
        await page.locator("#main").get_by_role("link", name="Active").click()
        await page.get_by_label("Select “Water”").check()
        await page.get_by_label("Select “Tea”").check()
        await page.get_by_role("button", name="Delete").click()
        await expect(page.get_by_text("2 conversations deleted.")).to_be_visible()
        assert await fits(page)
        await page.get_by_role("button", name="Undo").click()
        await expect(page.locator("#main").get_by_role("link", name="Tea", exact=True)).to_be_visible()
        await expect(page.locator("#main").get_by_role("link", name="Water", exact=True)).to_be_visible()


async def test_on_a_phone_the_list_is_a_drawer(live, ada, scripted, ask):
    async with open_page(live, ada, viewport=PHONE) as page:
        await page.goto("/")
        await ask(page, "Tea")
        entry = entries(page).get_by_role("link", name="Tea", exact=True)
        await expect(entry).to_be_hidden()
        opener = page.get_by_role("button", name="Show the list of conversations")
        await opener.click()
        await expect(entry).to_be_visible()
        await page.keyboard.press("Escape")
        await expect(entry).to_be_hidden()
        await expect(opener).to_be_focused()
        await opener.click()
        await page.mouse.click(380, 400)
        await expect(entry).to_be_hidden()
        await opener.click()
        await page.get_by_role("link", name="New conversation").click()
        await expect(page.get_by_role("heading", level=1)).to_have_text("New conversation")


async def test_nothing_is_wider_than_the_window(live, ada, scripted, ask):
    windows = [PHONE, {"width": 640, "height": 400}, {"width": 320, "height": 480}]
    wide = "| " + " | ".join(f"column {number}" for number in range(20)) + " |\n" + "|---" * 20 + "|\n"
    scripted.script(model.answer(model.text(wide + "\n```\n" + "x" * 300 + "\n```\n\n" + "y" * 300)))
    async with open_page(live, ada, viewport=PHONE) as page:
        for path in ("/accounts/login/", "/settings/", "/"):
            await page.goto(path)
            for window in windows:
                await page.set_viewport_size(window)
                assert await fits(page), (path, window)
        await ask(page, "z" * 300)
        for window in windows:
            await page.set_viewport_size(window)
            assert await fits(page), window
            assert await page.locator("[data-scroller]").evaluate("s => s.scrollWidth <= s.clientWidth"), window
            box = await page.get_by_role("button", name="Send").bounding_box()
            assert box["x"] + box["width"] <= window["width"]
            assert box["y"] + box["height"] <= window["height"]


@pytest.mark.parametrize("by", ["the button", "/new"])
async def test_a_conversation_that_is_ended_makes_room_for_another(live, ada, scripted, ask, write, listed, by):
    async with open_page(live, ada) as page:
        menu = page.get_by_role("link", name="More for this conversation")
        for viewport, said in (DESKTOP, "Tea"), (PHONE, "Coffee"):
            await page.set_viewport_size(viewport)
            await page.goto("/")
            await expect(menu).to_be_hidden()
            await ask(page, said)
            if by == "the button":
                await menu.click()
                await page.get_by_role("button", name="Finish and take notes").click()
            else:
                await write(page, by)
            await expect(page.get_by_role("heading", level=1)).to_have_text("New conversation")
            if by == "the button":
                await expect(page.locator("#toast")).to_contain_text("Notes of it are being saved to memory.")
            await expect(page.locator("article")).to_have_count(0)
            await (await listed(page)).get_by_role("link", name=said, exact=True).click()
            await expect(page.locator("article")).to_have_count(2)
        assert await fits(page)


async def test_on_a_desk_the_list_can_be_folded_away(live, ada, three):
    async with open_page(live, ada) as page:
        await page.goto("/")
        hide, show = (page.get_by_role("button", name=f"{what} the sidebar") for what in ("Hide", "Show"))
        await expect(show).to_be_hidden()
        await hide.click()
        await expect(page.locator("#sidebar")).to_be_hidden()
        await expect(show).to_be_focused()
        assert await page.locator("main").evaluate("main => main.getBoundingClientRect().left") == 0
        assert await violations(page) == ""
        await page.reload()
        await expect(page.locator("#sidebar")).to_be_hidden()
        # On a phone it is a drawer as ever.
        await page.set_viewport_size(PHONE)
        await page.get_by_role("button", name="Show the list of conversations").click()
        await expect(entries(page).first).to_be_in_viewport()
        await page.keyboard.press("Escape")
        await expect(show).to_be_hidden()
        await page.set_viewport_size(DESKTOP)
        await show.press("Enter")
        await expect(hide).to_be_focused()
        await entries(page).get_by_role("link").first.focus()
        await page.keyboard.press("Control+Shift+s")
        await expect(show).to_be_focused()
        message = page.get_by_label("Message", exact=True)
        await message.press("Control+Shift+s")
        await expect(hide).to_be_visible()
        await expect(message).to_be_focused()
        await page.reload()
        await expect(hide).to_be_visible()


async def test_news_of_the_list_leave_the_focus_where_it_is(live, ada, scripted, ask):
    async with open_page(live, ada) as page:
        await page.goto("/")
        await ask(page, "Tea")
        await page.get_by_role("link", name="More for “Tea”").focus()
        other = await page.context.new_page()
        await other.goto("/")
        await ask(other, "Coffee")
        await expect(entries(page).get_by_role("link", name="Coffee", exact=True)).to_be_visible()
        await expect(page.get_by_role("link", name="More for “Tea”")).to_be_focused()


@pytest.fixture
def seventy(live, ada):
    agent, then = default_agent(), timezone.now() - dt.timedelta(days=100)
    ChatSession.objects.bulk_create(
        ChatSession(key=f"k{n}", owner=ada, agent=agent, title=f"T{n}", last_seq=1, active_at=then) for n in range(70)
    )


async def test_older_ones_come_while_one_scrolls_and_stay(live, ada, three, seventy, listed, monkeypatch):
    monkeypatch.setattr(sidebar, "PAGE_SESSIONS", 30)
    async with open_page(live, ada) as page:
        await page.goto("/")
        await expect(entries(page)).to_have_count(30)
        # By the keyboard: whoever reaches the way to older ones goes on with the first of them.
        await page.get_by_role("link", name="Show older conversations").focus()
        await expect(entries(page)).to_have_count(60)
        first = entries(page).nth(30).get_by_role("link").first
        await expect(first).to_be_focused()
        await page.locator("#sessions").evaluate("list => list.scrollTo(0, list.scrollHeight)")
        await expect(entries(page)).to_have_count(73)
        await expect(page.get_by_role("link", name="Show older conversations")).to_have_count(0)
        before = await page.locator("#sessions").evaluate("list => list.scrollTop")
        other = await page.context.new_page()
        await other.goto("/")
        await (await menu_of(other, "Tea")).get_by_role("button", name="Delete").click()
        await expect(entries(page)).to_have_count(72)
        assert abs(await page.locator("#sessions").evaluate("list => list.scrollTop") - before) < 100
        # In the drawer of a phone.
        await page.set_viewport_size(PHONE)
        await page.reload()
        await listed(page)
        for count in 60, 72:
            await page.locator("#sessions").evaluate("list => list.scrollTo(0, list.scrollHeight)")
            await expect(entries(page)).to_have_count(count)
        await expect(entries(page).last).to_be_visible()
        assert await fits(page)


async def test_a_small_window_begins_with_the_welcome(live, ada):
    async with open_page(live, ada, viewport={"width": 320, "height": 480}) as page:
        await page.goto("/")
        await page.wait_for_timeout(100)
        assert await page.locator("[data-scroller]").evaluate("s => s.scrollTop") == 0
