"""The page of channels in a browser: resets, linked peers, and the conversations of a channel in the list."""

import pytest
from playwright.async_api import expect

from chat.conversations.keys import Sender
from chat.models import IdentityLink, ResetChoice, SessionRoute
from chat.routes import identities
from oneclaw.threads import in_database
from tests.browser import DESKTOP, PHONE, fits, open_page, violations_in_both_schemes
from tests.chat.routes.cast import TELEGRAM, written
from tests.conversations import send, settle

pytestmark = pytest.mark.browser


def talked(ada):
    page = settle(send(ada, "From the page"))
    page.usage = {"input_tokens": 41_500, "output_tokens": 12}
    page.save()
    written(ada, "From Telegram", sender=TELEGRAM)
    written(ada, "From the terminal", sender=Sender("terminal", "a long name of somebody@example.org", "work"))


async def test_channels_are_listed_reset_and_linked(live, ada, scripted, settings, tmp_path):
    settings.DM_SCOPE = "per-channel-peer"
    await in_database(talked, ada)
    async with open_page(live, ada, expect=["422"]) as page:
        await page.set_viewport_size(DESKTOP)
        await page.goto("/settings/")
        await page.get_by_role("link", name="Channels and linked peers").click()
        await page.get_by_label("Start a new conversation").select_option("daily")
        await page.get_by_label("Hour of the day").fill("24")
        await page.get_by_role("button", name="Save").click()
        assert await page.get_by_label("Hour of the day").evaluate("field => field.validity.rangeOverflow")
        await page.get_by_label("Hour of the day").fill("5")
        await page.get_by_role("button", name="Save").click()
        await expect(page.get_by_text("Saved.")).to_be_visible()
        choice = await in_database(ResetChoice.objects.get)
        assert (choice.reset, choice.reset_hour, choice.reset_minutes) == ("daily", 5, None)
        await page.get_by_role("textbox", name="Name").fill("Ada")
        await page.get_by_role("button", name="Get a code").click()
        code = await page.get_by_label("Send this message").input_value()
        assert await violations_in_both_schemes(page) == ""
        await page.screenshot(path=tmp_path / "channels-desktop.png", full_page=True)
        await in_database(identities.prove, ada, TELEGRAM, code.removeprefix("/link "))
        for viewport in (PHONE, DESKTOP):
            await page.set_viewport_size(viewport)
            await page.goto("/settings/channels")
            await expect(page.get_by_text("telegram · 123").last).to_be_visible()
            assert await fits(page)
            assert await violations_in_both_schemes(page) == ""
            await page.screenshot(path=tmp_path / f"channels-{viewport['width']}.png", full_page=True)
        await page.get_by_role("button", name="Unlink 123").click()
        await expect(page.get_by_text("The peer is no longer linked.")).to_be_visible()
        assert not await in_database(IdentityLink.objects.exists)
        await page.get_by_role("link", name="Settings of telegram · 123").click()
        await expect(page.get_by_role("option", name="As for all channels (Every day)")).to_be_attached()
        await page.get_by_label("Start a new conversation", exact=True).select_option("idle")
        await page.get_by_label("Minutes of pause").fill("30")
        assert await violations_in_both_schemes(page) == ""
        await page.screenshot(path=tmp_path / "channel.png", full_page=True)
        await page.get_by_role("button", name="Save").click()
        await expect(page.get_by_text("new conversation: After a pause")).to_be_visible()
        await page.get_by_role("link", name="Settings of telegram · 123").click()
        await page.get_by_role("button", name="Reset").click()
        await expect(page.get_by_text("The next message starts a new conversation.").first).to_be_visible()
    route = await in_database(SessionRoute.objects.select_related("session").get, channel="telegram")
    assert (route.reset, route.reset_minutes, route.session.last_seq) == ("idle", 30, 0)


async def test_all_conversations_shows_channels_tokens_and_activity_and_resets(live, ada, scripted, settings, tmp_path):
    settings.DM_SCOPE = "per-channel-peer"
    await in_database(talked, ada)
    async with open_page(live, ada) as page:
        for viewport in (PHONE, DESKTOP):
            await page.set_viewport_size(viewport)
            await page.goto("/conversations")
            await expect(page.locator(".chosen__row")).to_have_count(3)
            await expect(page.get_by_text("42 k tokens")).to_be_visible()
            assert await fits(page)
            assert await violations_in_both_schemes(page) == ""
            await page.screenshot(path=tmp_path / f"conversations-{viewport['width']}.png", full_page=True)
        await page.get_by_role("link", name="telegram", exact=True).click()
        await expect(page.locator(".chosen__row")).to_have_count(1)
        await page.get_by_role("link", name="Conversations of telegram · 123").click()
        await expect(page.get_by_role("heading", name="telegram · 123")).to_be_visible()
        await page.get_by_label("Select “From Telegram”").check()
        await page.get_by_role("button", name="Reset").click()
        await expect(page.get_by_text("Ended. Its channel")).to_be_visible()
    assert (
        await in_database(SessionRoute.objects.select_related("session").get, channel="telegram")
    ).session.last_seq == 0


async def test_a_command_on_the_page_goes_on_in_the_next_conversation_of_the_channel(
    live, ada, scripted, settings, ask
):
    session = await in_database(written, ada)
    async with open_page(live, ada) as page:
        await page.goto(session.get_absolute_url())
        await page.get_by_role("textbox", name="Message").fill("/new Dear MISO")
        await page.keyboard.press("Enter")
        await page.wait_for_url(lambda address: not address.endswith(f"/c/{session.pk}"))
        await expect(page.locator(".message--user")).to_have_text("Dear MISO")
        follower = (await in_database(SessionRoute.objects.get)).session_id
        assert follower != session.pk
        assert page.url.endswith(f"/c/{follower}")
        await page.get_by_role("textbox", name="Message").fill("/new")
        await page.keyboard.press("Enter")
        await page.wait_for_url(lambda address: not address.endswith(f"/c/{follower}"))
        third = (await in_database(SessionRoute.objects.get)).session_id
        assert page.url.endswith(f"/c/{third}")
        await ask(page, "Good evening")
        assert page.url.endswith(f"/c/{third}")


async def test_a_stranger_sees_none_of_it(live, ada, stranger, client):
    await in_database(talked, ada)
    route = await in_database(SessionRoute.objects.order_by("pk").first)

    def look():
        client.force_login(stranger)
        assert client.get(f"/settings/channels/{route.pk}").status_code == 404
        assert client.post(f"/settings/channels/{route.pk}/reset").status_code == 404
        assert client.get(f"/conversations?show=route-{route.pk}").status_code == 404
        assert "telegram · 123" not in client.get("/settings/channels").content.decode()
        assert "somebody@example.org" not in client.get("/conversations").content.decode()

    await in_database(look)
