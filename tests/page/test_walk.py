"""A new person of a demo installation is led through save, new conversation, recall and undo, with the demo model."""

import pytest
from playwright.async_api import expect

from memory.models import DemoWalk
from oneclaw.demo import model as demo
from oneclaw.threads import in_database
from tests.browser import DESKTOP, PHONE, fits, open_page
from tests.browser import violations_in_both_schemes as violations

pytestmark = pytest.mark.browser


@pytest.fixture
def demo_model(settings, monkeypatch):
    """The installation has no key: the demo model answers."""
    monkeypatch.setattr(demo, "DELTA_PAUSE_SECONDS", 0)
    settings.EMBEDDINGS = "none"
    settings.ANTHROPIC_API_KEY = settings.ANTHROPIC_BASE_URL = ""
    model = demo.start()
    settings.DEMO_URL = model.url
    yield model
    model.stop()


async def sent(page):
    """Send what a step has put into the field, and wait for the answer."""
    before = await page.locator("article[data-role=assistant]").count()
    await page.keyboard.press("Enter")
    await page.locator("article[data-role=assistant]").nth(before).wait_for()
    await page.get_by_role("button", name="Send").wait_for()


async def test_a_new_person_is_led_through_memory(live, ada, demo_model):
    async with open_page(live, ada) as page:
        await page.goto("/")
        walk = page.get_by_role("region", name="See how it remembers")
        current = walk.locator("[aria-current=step]")
        await expect(current).to_have_text("Save")
        # It is the only introduction: few words are before the field.
        words = await page.evaluate(
            "[...document.querySelectorAll('.hints, .scroller')].map((e) => e.innerText).join(' ')"
        )
        assert len(words.split()) <= 25
        await expect(page.locator("[data-welcome]")).to_be_hidden()
        for size in (PHONE, DESKTOP):
            await page.set_viewport_size(size)
            assert await fits(page)
            assert await violations(page) == ""
        await walk.get_by_role("button", name="Remember that my cat is called Miso.").click()
        await expect(page.get_by_label("Message", exact=True)).to_be_focused()
        await sent(page)
        await expect(current).to_have_text("New conversation")
        await walk.get_by_role("link", name="New conversation").click()
        await expect(current).to_have_text("Ask")
        await walk.get_by_role("button", name="What is my cat called?").click()
        await sent(page)
        await expect(page.locator("article").last).to_contain_text("My cat is called Miso")
        await expect(walk.locator("[data-done]")).to_have_count(3)
        conversation = page.url
        await page.locator("article").last.hover()
        await page.locator("article").last.get_by_role("link", name="Details").click()
        await expect(page.locator("#details")).to_contain_text("Demo")
        await page.locator("#details").get_by_role("button", name="Close").click()
        await walk.get_by_role("link", name="Look at what it knows").click()
        line = page.locator(".entry:target")
        await expect(line).to_contain_text("My cat is called Miso")
        await expect(line).to_be_in_viewport()
        assert await line.evaluate("(line) => getComputedStyle(line).animationName") == "none"
        await page.emulate_media(reduced_motion="no-preference")
        assert await line.evaluate("(line) => getComputedStyle(line).animationName") == "glow"
        await page.goto(conversation)
        await expect(page.get_by_label("Message", exact=True)).to_be_visible()
        await expect(walk).to_have_count(0)


async def test_it_is_closed_on_a_phone_and_stays_closed(live, ada, demo_model):
    async with open_page(live, ada, viewport=PHONE, has_touch=True) as page:
        await page.goto("/")
        walk = page.get_by_role("region", name="See how it remembers")
        close = walk.get_by_role("button", name="Close this introduction")
        box = await close.bounding_box()
        assert box["width"] >= 44
        assert box["height"] >= 44
        await close.tap()
        await expect(walk).to_have_count(0)
        await expect(page.get_by_role("main")).to_be_focused()
        # Then the welcome is the introduction.
        await expect(page.locator("[data-welcome]")).to_be_visible()
        assert (await in_database(DemoWalk.objects.get)).closed_at is not None
        await page.reload()
        await expect(page.get_by_label("Message", exact=True)).to_be_visible()
        await expect(walk).to_have_count(0)
