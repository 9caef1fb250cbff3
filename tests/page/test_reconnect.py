"""Sockets that break: nothing written is lost, nothing is sent twice."""

import asyncio
import contextlib
import json
import re

import pytest
from playwright.async_api import expect

from chat.conversations import lifecycle
from chat.models import ChatSession, Message, Turn
from oneclaw.threads import in_database
from tests import scripted as model
from tests.browser import open_page
from tests.conversations import send, settle

pytestmark = pytest.mark.browser


class Line:
    """The wire between page and server, which a test may cut and thin out."""

    def __init__(self):
        self.sockets, self.frames = [], []
        # Whether frames of this type get through to the page; whether a new socket or a request reaches the server.
        self.dropped, self.is_down = set(), False
        # How many of the next growing blocks are lost on the way to the page.
        self.lost_blocks = 0
        # Whether what the page says is lost on the way; whether the next `open` is told that the list is out of date.
        self.is_deaf, self.resets = False, False

    async def lay(self, page):
        await page.route_web_socket("**/ws/", self._opened)
        await page.route(re.compile("/healthz|/c/.*/(frame|messages)"), self._requested)

    async def _requested(self, route):
        while self.is_down:
            await asyncio.sleep(0.05)
        await route.continue_()

    async def _opened(self, socket):
        if self.is_down:
            await socket.close(code=1001)
            return
        server = socket.connect_to_server()
        self.sockets.append(socket)

        def from_page(text):
            frame = json.loads(text)
            self.frames.append(frame)
            if frame["type"] == "open" and self.resets:
                self.resets = False
                socket.send(json.dumps({"type": "ready", "session": frame["session"], "seq": 0, "reset": True}))
            elif not self.is_deaf:
                server.send(text)

        def from_server(text):
            kind = json.loads(text)["type"]
            if kind == "block" and self.lost_blocks:
                self.lost_blocks -= 1
            elif kind not in self.dropped:
                socket.send(text)

        socket.on_message(from_page)
        server.on_message(from_server)

    async def cut(self, code=1001):
        for socket in self.sockets:
            await socket.close(code=code)
        self.sockets.clear()

    def sent(self, kind):
        return [frame for frame in self.frames if frame["type"] == kind]


@contextlib.asynccontextmanager
async def on_a_line(live, user, **options):
    """A page of a new conversation, and its line."""
    line = Line()
    async with open_page(live, user, **options) as page:
        await line.lay(page)
        await page.goto("/")
        yield page, line


async def stored():
    messages = Message.objects.filter(role="user").order_by("pk")
    return await in_database(lambda: list(messages.values_list("text", flat=True)))


async def test_a_lost_acknowledgement_makes_no_second_message(live, ada, scripted, write):
    async with on_a_line(live, ada) as (page, line):
        line.dropped = {"ack", "message", "block", "done"}
        await write(page, "Only once")
        await expect(page.locator("article")).to_have_count(1)
        await expect(page.locator("article")).to_contain_text("Sending")
        line.dropped = set()
        await line.cut()
        await expect(page.locator("article[data-role=assistant]")).to_have_text("Hello from the scripted model.")
        await expect(page.locator("article[data-role=user]")).to_have_text(["Only once"])
        first, again = line.sent("send")
        assert first == again
        await expect(page).to_have_url(re.compile("/c/"))
    assert await stored() == ["Only once"]


async def test_what_is_written_without_a_connection_leaves_when_there_is_one(live, ada, scripted, ask, write):
    async with on_a_line(live, ada) as (page, line):
        await ask(page, "One")
        line.is_down = True
        await line.cut()
        await write(page, "Two")
        await expect(page.locator("[data-connection]")).to_have_text("Reconnecting …")
        await expect(page.locator("article").last).to_contain_text("Waits for the connection")
        line.is_down = False
        await expect(page.locator("article[data-role=assistant]")).to_have_count(2)
        await expect(page.locator("[data-connection]")).to_be_empty()
        await expect(page.locator("article[data-role=user]")).to_have_text(["One", "Two"])
    assert await stored() == ["One", "Two"]


async def test_a_message_on_its_way_survives_a_reload_of_a_new_conversation(live, ada, scripted, write):
    line = Line()
    async with open_page(live, ada) as page:
        await line.lay(page)
        line.is_down = True
        await page.goto("/")
        await write(page, "Do not lose me")
        session = await page.evaluate("Object.values(localStorage).join()")
        await page.reload()
        await expect(page.locator("article")).to_contain_text("Do not lose me")
        line.is_down = False
        await expect(page.locator("article[data-role=assistant]")).to_have_text(
            "Hello from the scripted model.",
        )
        assert page.url.partition("/c/")[2] in session
        await page.goto("/")
        await expect(page.locator("article")).to_have_count(0)
    assert await stored() == ["Do not lose me"]
    assert await in_database(ChatSession.objects.count) == 1


async def test_an_answer_goes_on_in_view_after_a_break(live, ada, scripted, write):
    scripted.script(model.answer(model.text(["One. "] + ["more "] * 20 + ["Last."], pace=0.1)))
    async with on_a_line(live, ada) as (page, line):
        await write(page, "Count")
        answer = page.locator("article[data-role=assistant]")
        await expect(answer).to_contain_text("One. more")
        await line.cut()
        await expect(answer).to_contain_text("Last.")
        await expect(answer).to_have_count(1)
        await expect(answer).to_have_attribute("data-status", "complete")
        assert line.sent("open")[-1]["last_seq"] == 1


async def test_an_answer_that_ended_meanwhile_is_there_after_the_break(live, ada, scripted, write):
    scripted.script(model.answer(model.text(["One. ", "Two."], pace=0.3)))
    async with on_a_line(live, ada) as (page, line):
        await write(page, "Count")
        answer = page.locator("article[data-role=assistant]")
        await expect(answer).to_contain_text("One.")
        line.is_down = True
        await line.cut()
        await page.wait_for_timeout(1000)
        line.is_down = False
        await expect(answer).to_have_text("One. Two.")
        await expect(page.get_by_role("button", name="Send")).to_be_visible()


async def test_what_was_pressed_on_a_dead_line_is_said_again_and_done_once(live, ada, scripted, write):
    scripted.script(
        model.answer(model.text(["One."] + [" more"] * 300, pace=0.1)),
        model.answer("And the rest."),
        model.key_refused(),
        model.answer("Now it works."),
    )
    line = Line()
    answers = "article[data-role=assistant]"
    words = f"{answers} .message__body"

    async def lose(button):
        line.is_deaf = True
        await page.get_by_role("button", name=button).click()
        line.is_deaf = False
        await line.cut()

    async with open_page(live, ada) as page:
        await line.lay(page)
        await page.goto("/")
        await write(page, "Count")
        await expect(page.locator(answers)).to_contain_text("One.")
        await lose("Stop")
        await expect(page.locator(f"{answers}[data-status=stopped]")).to_have_count(1)
        await lose("Continue")
        await expect(page.locator(words).last).to_have_text("And the rest.")
        await write(page, "Hello")
        await expect(page.locator(f"{answers}[data-status=failed]")).to_have_count(1)
        # This time the server hears it, and its answer is lost.
        line.dropped = {"ready", "message", "block", "done"}
        await page.get_by_role("button", name="Retry").click()
        while await in_database(Turn.objects.filter(status="complete").count) < 2:
            await asyncio.sleep(0.05)
        line.dropped = set()
        await line.cut()
        await expect(page.locator(words).last).to_have_text("Now it works.")
        await expect(page.locator(f"{answers}[data-status=failed]")).to_have_count(0)
        await expect(page.locator("[data-notices]")).to_be_empty()
    turns = await in_database(lambda: list(Turn.objects.order_by("pk").values_list("kind", "status")))
    assert turns == [("send", "stopped"), ("continue", "complete"), ("send", "failed"), ("retry", "complete")]


async def test_an_answer_that_was_tried_again_during_the_break_is_not_shown_beside_the_new_one(
    live, ada, scripted, write
):
    scripted.script(model.answer(model.text(["Old."] + [" more"] * 300, pace=0.1)), model.answer("New."))
    async with on_a_line(live, ada) as (page, line):
        await write(page, "Count")
        await expect(page.locator("article[data-status=running]")).to_contain_text("Old.")
        line.is_down = True
        await line.cut()
        other = await page.context.new_page()
        await other.goto(page.url)
        await other.get_by_role("button", name="Stop").click()
        await other.get_by_role("button", name="Retry").click()
        await expect(other.locator("article[data-role=assistant] .message__body")).to_have_text(["New."])
        line.is_down = False
        await expect(page.locator("article[data-role=assistant] .message__body")).to_have_text(["New."])
        await expect(page.get_by_role("button", name="Send")).to_be_visible()


async def test_a_page_that_was_too_slow_takes_the_list_and_goes_on(live, ada, scripted, ask, write):
    scripted.script(model.answer("First."), model.answer(model.text(["Sec", "ond."], pace=1)))
    async with on_a_line(live, ada) as (page, line):
        await ask(page, "One")
        # What comes from now on does not reach it.
        line.dropped = {"message", "block", "done"}
        await write(page, "Two")
        await expect(page.locator("article[data-role=user]")).to_have_count(2)
        line.dropped, line.resets = set(), True
        await line.cut(code=1013)
        await expect(page.locator("article[data-role=assistant]")).to_have_text(["First.", "Second."])
        await ask(page, "Three")
        await expect(page.locator("article[data-role=user]")).to_have_text(["One", "Two", "Three"])


async def test_what_is_written_into_an_editor_outlives_the_list_around_it(live, ada, scripted, ask):
    async with on_a_line(live, ada) as (page, line):
        await ask(page, "One")
        said = page.locator("article[data-role=user]")
        await said.hover()
        await said.get_by_role("link", name="Edit").click()
        await page.get_by_label("Edit your message").fill("Uno, due")
        await page.locator("article").first.evaluate("article => { article.isOld = true }")
        line.resets = True
        await line.cut()
        await page.wait_for_function("() => !document.querySelector('article').isOld")
        field = page.get_by_label("Edit your message")
        await expect(field).to_have_value("Uno, due")
        await expect(field).to_be_focused()
        await page.reload()
        await expect(field).to_have_value("Uno, due")
        # Another tab says it anew: this version is no longer shown.
        other = await page.context.new_page()
        await other.goto(page.url)
        await other.get_by_label("Edit your message").fill("Eins")
        await other.keyboard.press("Enter")
        await expect(page.locator("article[data-role=user] .said")).to_have_text(["Eins"])
        await expect(page.get_by_label("Message", exact=True)).to_have_value("Uno, due")
        await expect(page.locator("[data-notices]")).to_contain_text("is no longer shown")
        await expect(other.get_by_label("Message", exact=True)).to_have_value("")
        # What was sent is kept no more.
        assert await page.evaluate("Object.keys(localStorage).filter((key) => key.includes(':edit:'))") == []


async def test_what_two_new_tabs_wrote_without_a_connection_arrives_in_two_conversations(live, ada, scripted, write):
    line = Line()
    line.is_down = True
    # What the page of the deleted conversation still asks for is not there any more.
    async with open_page(live, ada, expect=["404"]) as page:
        context = page.context
        other = await context.new_page()
        for tab, text in [(page, "First"), (other, "Second")]:
            await line.lay(tab)
            await tab.goto("/")
            await expect(tab.locator("article")).to_have_count(0)
            await write(tab, text)
            await expect(tab.locator("article")).to_contain_text([text])
        third = await context.new_page()
        for tab in (page, other):
            await tab.close()
        for text in ("First", "Second"):
            await third.goto("/")
            await expect(third.locator("article[data-role=assistant][data-status=complete]")).to_be_visible()
            await expect(third.locator("article[data-role=user]")).to_have_text([text])
        # What its conversation does not take any more comes back in a new one.
        session = await in_database(ChatSession.objects.get, pk=third.url[-36:])
        await in_database(lifecycle.delete, session)
        await write(third, "Too late")
        await expect(third.locator("article").last).to_contain_text("no longer exists")
        await third.goto("/")
        await expect(third.locator("article")).to_contain_text(["Too late"])
        await third.get_by_role("button", name="Edit").click()
        await expect(third.get_by_label("Message", exact=True)).to_have_value("Too late")
    assert await stored() == ["First", "Second"]
    assert await in_database(ChatSession.objects.count) == 2


async def test_what_a_closed_tab_wrote_into_a_conversation_that_is_deleted_comes_back_in_a_new_one(
    live, ada, scripted, write
):
    first, second = [(await in_database(send, ada, text)) for text in ("One", "Two")]
    for accepted in first, second:
        await in_database(settle, accepted, "Yes.")
    async with open_page(live, ada, expect=["404"]) as page:

        async def leave(conversation, text, edit=None):
            line, tab = Line(), await page.context.new_page()
            await line.lay(tab)
            line.is_down = True
            await tab.goto(conversation.get_absolute_url())
            await write(tab, text)
            await expect(tab.locator("article").last).to_contain_text(text)
            if edit:
                await tab.locator("article[data-role=user]").hover()
                await tab.get_by_role("link", name="Edit").click()
                await tab.get_by_label("Edit your message").fill(edit)
            await tab.close()
            await in_database(lifecycle.delete, conversation)

        await leave(first.message.session, "Left in one")
        # A page of another conversation leads to the new one, a new one shows it.
        await page.goto(second.message.session.get_absolute_url())
        await page.get_by_role("link", name="is now in a new conversation").click()
        await expect(page.locator("article")).to_contain_text(["Left in one"])
        await leave(second.message.session, "Left in two", edit="Two, anew")
        await page.reload()
        await expect(page.locator("article")).to_contain_text(["Left in one", "Left in two", "Two, anew"])
        await expect(page.locator("article").last).to_contain_text("the conversation was deleted")
        await page.get_by_role("button", name="Edit").last.click()
        await expect(page.get_by_label("Message", exact=True)).to_have_value("Two, anew")
    assert await stored() == ["One", "Two"]


async def test_a_message_that_another_tab_has_delivered_is_not_shown_as_unsent(live, ada, scripted, ask, write):
    async with on_a_line(live, ada) as (page, line):
        await ask(page, "One")
        line.is_deaf = True
        await write(page, "Two")
        other = await page.context.new_page()
        await other.goto(page.url)
        await expect(other.locator("article[data-role=assistant]")).to_have_count(2)
        line.is_deaf = False
        await line.cut()
        await expect(page.locator("article[data-role=assistant]")).to_have_count(2)
        await expect(page.locator("article")).to_have_count(4)
    assert await stored() == ["One", "Two"]


async def test_a_refused_message_can_be_edited(live, ada, scripted, ask, write, settings):
    async with open_page(live, ada) as page:
        await page.goto("/")
        await ask(page, "One")
        settings.MESSAGE_LENGTH = 10
        await write(page, "This is too long")
        refused = page.locator("article").last
        await expect(refused).to_contain_text("at most 10 can be sent")
        await page.reload()
        await expect(refused).to_contain_text("This is too long")
        await refused.get_by_role("button", name="Edit").click()
        text = page.get_by_label("Message", exact=True)
        await expect(text).to_have_value("This is too long")
        await expect(text).to_be_focused()
        await text.fill("Short")
        await page.keyboard.press("Enter")
        await expect(page.locator("article[data-role=user]")).to_have_text(["One", "Short"])
        await page.reload()
        await expect(page.locator("article[data-role=user]")).to_have_text(["One", "Short"])


async def test_frames_that_come_late_or_twice_do_no_harm(live, ada, scripted, ask):
    scripted.script(model.answer(model.text("A *whole* answer.")))
    async with on_a_line(live, ada) as (page, line):
        answer = await ask(page, "Hello")
        html = await answer.evaluate("a => a.outerHTML")
        message = (await answer.get_attribute("id")).removeprefix("message-")
        still = f'<article id="message-{message}" data-seq="2" data-status="running"></article>'
        late = [
            {"type": "block", "message": message, "index": 0, "revision": 1, "html": "<p>Old</p>"},
            {"type": "block", "message": "999999", "index": 0, "revision": 1, "html": "<p>Nobody's</p>"},
            {"type": "tool", "message": message, "id": "x", "name": "x", "state": "running", "html": "<p>Old</p>"},
            {"type": "message", "id": message, "seq": 2, "html": still},
            {"type": "message", "id": "77", "seq": 3, "html": ""},
            {"type": "done", "message": message, "status": "complete", "final": True, "usage": None},
            {"type": "something new"},
        ]
        for frame in late:
            line.sockets[0].send(json.dumps(frame))
        await page.wait_for_timeout(200)
        assert await answer.evaluate("a => a.outerHTML") == html
        await expect(page.locator("article")).to_have_count(2)


async def test_a_page_that_lacks_what_a_block_continues_asks_for_the_whole(live, ada, scripted, write):
    items = [f"- item *{number}* of a list that goes on 🦀\n" for number in range(120)]
    scripted.script(model.answer(model.text(items, pace=0.03)))
    async with on_a_line(live, ada) as (page, line):
        await write(page, "List them")
        answer = page.locator("article[data-role=assistant]")
        await expect(answer.locator("li").nth(5)).to_be_attached()
        assert [frame["appends"] for frame in line.sent("open")] == [True]
        line.lost_blocks = 1
        # It grows again while the answer is running.
        await expect(answer.locator("li").nth(80)).to_be_attached()
        assert len(line.sent("open")) == 2
        assert await answer.get_attribute("data-status") == "running"
        await expect(answer).to_have_attribute("data-status", "complete")
        assert await answer.locator("li").count() == len(items)
        shown = await answer.locator(".message__body").inner_text()
        await page.reload()
        assert await answer.locator(".message__body").inner_text() == shown


async def test_who_is_signed_out_loses_the_page_and_keeps_the_text(live, ada, scripted, ask):
    # What the page says first, the wire may hand to a server that has just refused.
    async with on_a_line(live, ada, expect=["already in CLOSING or CLOSED state"]) as (page, line):
        await ask(page, "One")
        await page.get_by_label("Message", exact=True).fill("A draft")
        await page.context.clear_cookies()
        # News of the list take nobody away from what they are writing.
        async with page.expect_response(lambda response: "hx-redirect" in response.headers):
            await page.evaluate("document.body.dispatchEvent(new Event('sessions-changed'))")
        await line.cut()
        await expect(page).to_have_title("Sign in – OneClaw")
        await page.get_by_label("Email").fill("ada@example.org")
        await page.get_by_label("Password").fill("correct horse battery")
        await page.keyboard.press("Enter")
        await expect(page.get_by_label("Message", exact=True)).to_have_value("A draft")
