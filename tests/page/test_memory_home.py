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
MORE_LINES = "- Likes boats\n- Likes the sea\n"


def filled(ada):
    space = Space.objects.own_of(ada)
    documents.apply(space, "MEMORY.md", Append(LINES), Author(Source.TOOL, ada))
    for days_ago in range(0, 200, 3):
        path = f"memory/{ada.day() - dt.timedelta(days=days_ago)}.md"
        documents.apply(space, path, Append("- noted\n" * (days_ago % 7 + 1)), Author(Source.FLUSH, ada))
    document = MemoryDocument.objects.get(space=space, path="MEMORY.md")
    Review.objects.create(document=document, kind=Review.Kind.STILL_TRUE, line_hash=content_hash("- Works at Nordwind"))


def remember(ada, lines):
    documents.apply(Space.objects.own_of(ada), "MEMORY.md", Append(lines), Author(Source.TOOL, ada))


def content():
    return MemoryDocument.objects.get(path="MEMORY.md").content


def row_of(page, text):
    return page.locator(".entry").filter(has_text=text)


async def act(page, name, text):
    """Choose `name` in the menu of the card with this text."""
    row = row_of(page, text)
    await row.locator("summary").click()
    await row.locator(".entry__acts").get_by_text(name, exact=True).click()


# Pairs of visible texts that lie over each other, and what is wider than its card.
OVERLAPS = """() => {
  const found = [], boxes = [];
  const shown = [
    ".about :is(h1, h2, p, .button)", ".about__coming > li", ".about__short > li", ".entry__text", ".entry__about",
    ".entry__menu", ".about__topics > a", ".diary :is(h1, h2, .button)", ".diary__list > li",
  ];
  for (const each of document.querySelectorAll(shown.join())) {
    if (!each.checkVisibility() || each.closest(".visually-hidden") || each.closest("details:not([open])")) continue;
    const box = each.getBoundingClientRect(), text = each.textContent.trim().slice(0, 40);
    if (text && (box.width < 1 || box.height < 1)) found.push("no size: " + text);
    if (box.right > innerWidth && !each.closest(".about__topics")) found.push("cut: " + text);
    boxes.push([each, box, text]);
  }
  const meet = (a, b) => a.left < b.right - 1 && b.left < a.right - 1 && a.top < b.bottom - 1 && b.top < a.bottom - 1;
  for (const [one, a, text] of boxes)
    for (const [two, b, other] of boxes)
      if (one !== two && !one.contains(two) && !two.contains(one) && meet(a, b)) found.push(text + " over " + other);
  return found;
}"""


async def fits(page):
    assert await page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert await page.evaluate(OVERLAPS) == []


async def test_an_entry_is_changed_where_it_is_shown(live, ada):
    await in_database(filled, ada)
    async with open_page(live, ada) as page:
        await page.goto("/memory/")
        for size in (DESKTOP, PHONE):
            await page.set_viewport_size(size)
            await fits(page)
            assert await violations(page) == ""
        await page.set_viewport_size(DESKTOP)
        # Edit: the form takes the focus, the row comes back with its new words.
        await act(page, "Edit", "Likes green tea")
        field = page.get_by_role("textbox", name="Text")
        await expect(field).to_be_focused()
        assert await violations(page) == ""
        await page.get_by_role("button", name="Cancel").click()
        await expect(row_of(page, "Likes green tea")).to_be_visible()
        await act(page, "Edit", "Likes green tea")
        await field.fill("- Likes white tea")
        await page.get_by_role("button", name="Save").click()
        changed = row_of(page, "Likes white tea")
        await expect(changed.get_by_role("status")).to_have_text("Saved.")
        await expect(changed).to_be_focused()
        # Still true: the row says when.
        await act(page, "Still true", "Likes white tea")
        await expect(row_of(page, "Likes white tea")).to_contain_text("still true on")
        # A line above was deleted; the rows below still mean their own lines.
        await act(page, "Edit", "Works on Aurora")
        await page.get_by_role("button", name="Delete").click()
        await expect(page.get_by_text("Deleted.")).to_be_visible()
        await act(page, "Edit", "My sister lives in Lisbon")
        await expect(field).to_have_value("- My sister lives in Lisbon")
        await field.fill("- My sister lives in Porto")
        await page.get_by_role("button", name="Save").click()
        await expect(row_of(page, "Porto")).to_be_visible()
        assert await in_database(content) == "- Works at Nordwind\n- Likes white tea\n- My sister lives in Porto\n"
        # Forget: after a question that says what goes.
        await act(page, "Forget", "My sister lives in Porto")
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
        await act(page, "Edit", "Likes green tea")
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
        await expect(page.get_by_role("link", name="1 question for you")).to_be_visible()
        await row_of(page, "Likes green tea").locator("summary").click()
        for each in await page.locator(".entry__acts > *").filter(visible=True).all():
            box = await each.bounding_box()
            assert box["height"] >= 44
            assert box["width"] >= 44
        await row_of(page, "Works at Nordwind").get_by_role("link", name="Is this still true?").click()
        item = page.locator("[data-inbox-item]")
        await expect(item).to_be_focused()
        await item.get_by_role("link", name="Saved on").click()
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


ODD = [
    "- " + "x" * 2_000,
    "- أختي إيناس تعيش في لشبونة مع طفليها منذ سنة ٢٠٢٠",
    "- 妹のイネスは二人の子供とリスボンに住んでいる。" * 12,
    "- 👩‍👩‍👧‍👦" * 90,
    "- See https://example.org/" + "long/" * 80,
    "- The lighthouse project is due in two days, on 2031-12-18, " + "and so on " * 60,
]


def odd(ada):
    space = Space.objects.own_of(ada)
    documents.apply(space, "MEMORY.md", Append("\n".join(ODD) + "\n" + LINES), Author(Source.TOOL, ada))
    for days_ago in (0, 1, 365, 366):
        path = f"memory/{ada.day() - dt.timedelta(days=days_ago)}.md"
        documents.apply(
            space, path, Append(f"# A day\n\n## 09:00 Talk\n\n{ODD[0]}\n{ODD[1]}\n"), Author(Source.FLUSH, ada)
        )


@pytest.mark.parametrize("window", [DESKTOP, PHONE])
async def test_nothing_overlaps_or_scrolls_sideways_whatever_is_remembered(live, ada, window):
    await in_database(odd, ada)
    is_phone = window == PHONE
    async with open_page(live, ada, viewport=window, has_touch=is_phone, is_mobile=is_phone) as page:
        for address in "/memory/", "/memory/diary", "/memory/past", "/memory/topics/8":
            await page.goto(address)
            await fits(page)
        await page.goto("/memory/")
        assert await violations(page) == ""
        # The last months are in sight, not the first.
        today = await page.locator(".calendar__today").bounding_box()
        assert today["x"] + today["width"] <= window["width"]
        columns = await page.locator(".about__cards").evaluate("each => getComputedStyle(each).gridTemplateColumns")
        assert len(columns.split()) == (1 if is_phone else 2)
        if is_phone:
            for link in await page.locator(".about__topics > a, .entry__menu > summary").filter(visible=True).all():
                box = await link.bounding_box()
                assert box["height"] >= 44
                assert box["width"] >= 44


async def test_a_topic_chooses_the_cards_and_a_number_opens_its_line(live, ada):
    await in_database(filled, ada)
    await in_database(remember, ada, MORE_LINES)
    async with open_page(live, ada) as page:
        await page.goto("/memory/")
        topics, cards = page.get_by_role("navigation", name="Topics"), page.locator(".entry").filter(visible=True)
        await expect(cards).to_have_count(6)
        await topics.get_by_role("link", name="Work 2").click()
        await expect(cards).to_have_count(2)
        await expect(topics.get_by_role("link", name="Work 2")).to_have_attribute("aria-current", "true")
        # A line that is hidden is shown when it is asked for.
        await page.get_by_role("link", name="Source 1").click()
        await expect(cards).to_have_count(6)
        await expect(page.locator(".entry:target")).to_contain_text("My sister lives in Lisbon")
        # A circle does the same, and once more takes it back.
        circle = page.locator(".about__map a").filter(has_text="Work")
        await circle.click()
        await expect(cards).to_have_count(2)
        await circle.click()
        await expect(cards).to_have_count(6)
        # A menu closes by Escape, and by a click beside it.
        menu = row_of(page, "Likes green tea").locator("details")
        for close in (lambda: page.keyboard.press("Escape"), lambda: page.locator("main h1").click()):
            await menu.locator("summary").click()
            await expect(menu.get_by_role("link", name="Edit Likes green tea")).to_be_visible()
            await close()
            await expect(menu).not_to_have_attribute("open", "")
        # So does a form.
        await act(page, "Edit", "Likes green tea")
        await expect(page.get_by_role("textbox", name="Text")).to_be_focused()
        await page.keyboard.press("Escape")
        await expect(row_of(page, "Likes green tea")).to_be_visible()
        # The table says what the drawing shows.
        await page.get_by_text("As a table").click()
        await expect(page.get_by_role("row").nth(1).get_by_role("cell").last).to_have_text("6")
        assert await violations(page) == ""


async def test_the_picture_of_the_year_has_no_word_of_memory(live, ada):
    await in_database(filled, ada)
    async with open_page(live, ada) as page:
        await page.goto("/memory/")
        await page.evaluate(
            """() => {
              Object.defineProperty(navigator, "clipboard", { value: undefined });
              const serialised = XMLSerializer.prototype.serializeToString;
              XMLSerializer.prototype.serializeToString = function (node) {
                window.drawn = serialised.call(this, node);
                return window.drawn;
              };
            }"""
        )
        async with page.expect_download() as download:
            await page.get_by_role("button", name="Copy as picture").click()
        path = await (await download.value).path()
        assert path.read_bytes().startswith(b"\x89PNG")
        assert path.stat().st_size > 10_000
        await expect(page.get_by_role("button", name="Saved as a picture.")).to_be_visible()
        drawn = await page.evaluate("drawn")
        assert "4 things remembered" in drawn
        assert "67 days of notes" in drawn
        for word in ("Nordwind", "green tea", "Lisbon", "Ada", "href", "<title"):
            assert word not in drawn


async def test_the_diary_is_walked_by_calendar_buttons_and_slider(live, ada):
    await in_database(filled, ada)
    async with open_page(live, ada) as page:
        await page.goto("/memory/")
        assert await violations(page) == ""
        await page.locator(".calendar__days a").nth(-2).click()
        day = ada.day() - dt.timedelta(days=3)
        await expect(page.get_by_role("heading", level=1)).to_contain_text(f"{day:%A}, {day.day} {day:%B %Y}")
        await expect(page.get_by_text("noted").first).to_be_visible()
        await page.get_by_role("link", name="Today").click()
        await expect(page.get_by_role("region", name="Remembered")).to_contain_text("Likes green tea")
        for size in (DESKTOP, PHONE):
            await page.set_viewport_size(size)
            await fits(page)
            assert await violations(page) == ""
        slider = page.get_by_role("slider", name="Day")
        await slider.focus()
        await page.keyboard.press("Home")
        await page.wait_for_url("**day=*")
        await expect(page.locator("a[rel=next]")).to_be_visible()
        await page.get_by_role("button", name="Memory as it was then").click()
        await expect(page.get_by_role("heading", name="Memory on an earlier day")).to_be_visible()
