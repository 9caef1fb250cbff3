"""Schedules in a browser: the heartbeat, tasks, what they came to, a proposed task, and the message that is told."""

import pytest
from playwright.async_api import expect

from chat.models import Beat, Schedule
from chat.schedules import beat as beats
from chat.schedules import planning
from oneclaw.threads import in_database
from tests.browser import DESKTOP, PHONE, fits, open_page, violations_in_both_schemes
from tests.scripted import answer, tool_use

pytestmark = pytest.mark.browser

TELL = answer(tool_use("heartbeat_respond", {"tell": True, "text": "Three appointments.", "note": "told"}))
QUIET = answer(tool_use("heartbeat_respond", {"tell": False, "note": "nothing new"}))


def work():
    planning.sweep()
    for beat_id in Beat.objects.to_send():
        beats.run(beat_id)


async def test_a_task_is_made_run_now_paused_and_deleted(live, ada, scripted, listed):
    async with open_page(live, ada, expect=["422"]) as page:
        await page.goto("/schedules/")
        await page.get_by_role("link", name="New task").click()
        await page.get_by_label("What should be done?").fill("List my week")
        await page.get_by_label("Every week, on").check()
        await page.get_by_role("button", name="Save").click()
        await expect(page.get_by_role("alert")).to_contain_text("Choose at least one day of the week.")
        await expect(page.get_by_label("What should be done?")).to_have_value("List my week")
        await page.get_by_label("Monday").check()
        for viewport in DESKTOP, PHONE:
            await page.set_viewport_size(viewport)
            assert await fits(page)
            assert await violations_in_both_schemes(page) == ""
        await page.get_by_role("button", name="Save").click()
        await expect(page.get_by_text("Every Monday at 08:00")).to_be_visible()
        scripted.script(TELL)
        await page.get_by_role("button", name="Run now: List my week").click()
        await expect(page.get_by_text("It runs now.")).to_be_visible()
        await in_database(work)
        scripted.script(QUIET)
        await page.reload()
        await page.get_by_role("link", name="Schedules").first.click()
        await page.get_by_role("button", name="Run now: List my week").click()
        # The page shows by itself what is new.
        await page.goto("/schedules/")
        await expect(page.get_by_text("Stayed quiet")).to_have_count(0)
        await in_database(work)
        await expect(page.get_by_text("Stayed quiet")).to_be_visible(timeout=20_000)
        await page.get_by_role("link", name="Transcript").first.click()
        await expect(page.get_by_text("What the model did by itself")).to_be_visible()
        await expect(page.get_by_label("Message", exact=True)).to_be_hidden()
        assert await violations_in_both_schemes(page) == ""
        await page.goto("/schedules/")
        await page.get_by_role("link", name="History: List my week").click()
        await page.get_by_role("link", name="Nothing said").click()
        await expect(page.get_by_text("The model had nothing to tell.")).to_be_visible()
        await expect(page.get_by_text("Three appointments.")).to_have_count(0)
        assert await violations_in_both_schemes(page) == ""
        await page.goto("/schedules/")
        for viewport in DESKTOP, PHONE:
            await page.set_viewport_size(viewport)
            assert await fits(page)
            assert await violations_in_both_schemes(page) == ""
        # What it told is an unread conversation, and says how it came.
        await page.set_viewport_size(DESKTOP)
        await page.goto("/")
        await (await listed(page)).get_by_role("link", name="Heartbeat", exact=True).click()
        await expect(page.get_by_text("Three appointments.")).to_be_visible()
        await expect(page.get_by_text("by itself at")).to_be_visible()
        await expect(page.get_by_role("button", name="Regenerate")).to_have_count(0)
        for viewport in DESKTOP, PHONE:
            await page.set_viewport_size(viewport)
            assert await fits(page)
            assert await violations_in_both_schemes(page) == ""
        await page.goto("/schedules/")
        await page.get_by_role("button", name="Pause: List my week").click()
        await page.get_by_role("button", name="Resume: List my week").click()
        await page.get_by_role("link", name="Delete: List my week").click()
        assert await violations_in_both_schemes(page) == ""
        await page.get_by_role("button", name="Delete").click()
        await expect(page.get_by_text("No tasks yet.")).to_be_visible()
    assert await in_database(Beat.objects.count) == 0


async def test_the_heartbeat_is_switched_on_and_says_why_it_is_quiet(live, ada, scripted):
    async with open_page(live, ada, expect=["422"]) as page:
        await page.goto("/schedules/")
        await page.get_by_label("Switched on").check()
        await page.get_by_label("Every so many minutes").fill("15")
        await page.get_by_label("From").fill("00:00")
        await page.get_by_label("Until", exact=True).fill("00:00")
        await (
            page.locator("form").filter(has=page.get_by_label("Switched on")).get_by_role("button", name="Save").click()
        )
        await expect(page.get_by_text("Every 15 minutes, day and night")).to_be_visible()
        await page.get_by_role("button", name="Run the heartbeat now").click()
        await in_database(work)
        await page.goto("/schedules/")
        await page.get_by_role("link", name="Why was nothing said?").click()
        await expect(page.get_by_text("There is no HEARTBEAT.md.")).to_be_visible()


async def test_a_proposed_task_waits_for_the_yes_on_its_card(live, ada, scripted, ask):
    task = {"text": "List my week", "repeat": "weekly", "time": "08:00", "days": ["monday"]}
    scripted.script(answer(tool_use("schedule", task)), answer("Please confirm it."))
    async with open_page(live, ada) as page:
        await page.goto("/")
        await ask(page, "Each Monday at 8, list my week")
        card = page.locator(".card").filter(has_text="Proposed a task")
        await expect(card.get_by_text("Every Monday at 08:00", exact=True)).to_be_visible()
        assert await violations_in_both_schemes(page) == ""
        assert await in_database(Schedule.objects.proposed().count) == 1
        await card.get_by_role("button", name="Yes, schedule it").click()
        await expect(page.locator(".card").filter(has_text="Scheduled a task")).to_be_visible()
    assert (await in_database(Schedule.objects.get)).enabled
