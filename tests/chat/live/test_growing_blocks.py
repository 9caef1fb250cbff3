"""A page is sent what was appended to a block, and shows the same as one that is sent whole blocks."""

import asyncio
import itertools
import json
import uuid

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from chat.live import growing_blocks
from chat.live.growing_blocks import GrowingBlock, common_start
from chat.live.outbox import Outbox
from chat.rendering import incremental
from chat.rendering.incremental import GrowingText
from tests import scripted as model
from tests.chat.live.test_socket import Client


class Page:
    """What a page holds of blocks, as static/js/blocks.js has it."""

    def __init__(self):
        self.held = {}
        self.has_missed = False

    def take(self, frame):
        if frame["type"] == "message":
            self.held.clear()
            return
        index, html = frame["index"], frame["html"]
        held = self.held.get(index)
        if held and held[0] >= frame["revision"]:
            return
        if "base" in frame:
            if held is None or held[0] != frame["base"]:
                self.has_missed = True
                return
            html = units(units(held[1])[: frame["keep"] * 2]) + html
        self.held[index] = frame["revision"], html

    @property
    def shown(self):
        return {index: html for index, (_, html) in self.held.items() if html}


def units(text):
    """UTF-16 as JavaScript counts it, and back."""
    return text.encode("utf-16-le") if isinstance(text, str) else text.decode("utf-16-le")


PIECES = [
    "- item **b** 🦀\n",
    "| a | b |\n|---|---|\n",
    "| 1 | 東京 |\n",
    "```\n",
    "code <b>\n",
    "word ",
    "\n\n",
    "*",
    "é",
]
DELTAS = st.lists(st.sampled_from(PIECES), min_size=5, max_size=40)
# What happens after a delta: a frame is sent, the reader takes one, the page is sent everything again.
EVENTS = st.lists(st.sampled_from(["publish", "publish", "take", "take", "reset"]), min_size=20, max_size=60)


class Answer:
    """A growing answer and its frames, as chat/live/publisher.py sends them."""

    def __init__(self):
        self.growing, self.revision = GrowingText(), 0

    def changed(self):
        self.revision += 1
        return [GrowingBlock("1", index, self.revision, html) for index, html in self.growing.changes()]

    def whole(self):
        self.revision += 1
        return [GrowingBlock("1", index, self.revision, html) for index, html in enumerate(self.growing.blocks())]

    @property
    def shown(self):
        return {index: html for index, html in enumerate(self.growing.blocks()) if html}


class Socket:
    """An outbox, and a reader that takes a frame only when it is let."""

    def __init__(self, *, appends):
        self.outbox, self.page = Outbox(), Page()
        self.outbox.appends = appends
        self.may_take = asyncio.Semaphore(0)
        self.draining = asyncio.create_task(self.outbox.drain(self.send))

    async def send(self, text):
        await self.may_take.acquire()
        self.page.take(json.loads(text))

    async def take(self, count=1):
        for _ in range(count):
            self.may_take.release()
            for _ in range(3):
                await asyncio.sleep(0)


async def followed(deltas, events):
    answer, sockets = Answer(), [Socket(appends=True), Socket(appends=False)]
    # In the end all is published, and then sent to the page anew.
    pairs = [*zip(deltas, events, strict=False), ("end", "publish"), (".", "reset")]
    for delta, event in pairs:
        answer.growing.append(delta)
        blocks = {"publish": answer.changed, "reset": answer.whole}.get(event, list)()
        for socket in sockets:
            if event == "reset":
                socket.outbox.forget_blocks()
                message = (json.dumps({"type": "message"}), None)
                socket.outbox.put_together([message, *((block, block.key) for block in blocks)])
            for block in blocks if event == "publish" else []:
                socket.outbox.put(block, block.key)
        if event == "take":
            await sockets[0].take()
    for socket in sockets:
        await socket.take(200)
        socket.draining.cancel()
        assert not socket.page.has_missed
        assert {i: html for i, html in socket.page.shown.items() if i in answer.shown} == answer.shown


@settings(max_examples=100, deadline=None)
@given(DELTAS, EVENTS)
def test_a_page_of_a_slow_socket_shows_the_answer_and_never_misses_a_frame(deltas, events):
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(growing_blocks, "SAVED_MIN_CHARS", 1)
        asyncio.run(followed(deltas, events))


@settings(max_examples=200, deadline=None)
@given(DELTAS, st.lists(st.integers(0, 200), max_size=80))
def test_lost_repeated_and_reordered_frames_show_what_the_answer_was_and_the_whole_mends_them(deltas, order):
    answer, frames, were, sent = Answer(), [], {}, {}
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(growing_blocks, "SAVED_MIN_CHARS", 1)
        for delta in deltas:
            answer.growing.append(delta)
            for block in answer.changed():
                frames.append(json.loads(block.text_after(sent.get(block.index))))
                sent[block.index] = block
                were[block.index, block.revision] = block.html
    page = Page()
    for number in order if frames else []:
        page.take(frames[number % len(frames)])
        for index, (revision, html) in page.held.items():
            assert html == were[index, revision]
    # The page asks for the whole.
    for block in answer.whole():
        page.take(json.loads(block.text_after(None)))
    assert {index: html for index, html in page.shown.items() if index in answer.shown} == answer.shown


@given(st.text("ab<🦀", max_size=30), st.text("ab<🦀", max_size=30), st.text("ab<🦀", max_size=30))
@example("", "", "")
@example("a", "", "")
@example("ab", "a", "b")
def test_the_common_start_of_two_texts(start, before, after):
    one, other = start + before, start + after
    same = itertools.takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False))
    assert common_start(one, other) == len(list(same))


@pytest.mark.parametrize(
    "lines",
    [
        "- The boxes of room {} go up **first**\n",
        "| Room {} | {} |\n",
        "    rooms[{}] = sum(boxes)\n",
        "- Räume {} 🦀\n  - in\n",
    ],
)
def test_a_list_table_or_code_takes_at_most_three_times_the_bytes_of_words(lines, monkeypatch):
    # Here all deltas come at once: changes of a long block would be delayed.
    monkeypatch.setattr(incremental, "LONG_BLOCK_CHARS", 1_000_000)
    head = "| a | b |\n|---|---|\n" if lines.startswith("|") else "```py\n" if lines.startswith(" ") else ""
    text = head + "".join(lines.replace("{}", str(number)) for number in range(400))
    assert sent_bytes(text[:8000], appends=True) <= 3 * sent_bytes(("Some words that go on. " * 20 + "\n\n") * 18)
    assert sent_bytes(text[:8000], appends=False) > 1_000_000


def sent_bytes(text, *, appends=True):
    """The bytes of the frames of a text of 1,000 deltas, of which four are in each frame."""
    answer, sent, count = Answer(), {}, 0
    for start in range(0, len(text), 32):
        answer.growing.append(text[start : start + 32])
        for block in answer.changed():
            count += len(block.text_after(sent.get(block.index) if appends else None).encode())
            sent[block.index] = block
    return count


@pytest.mark.django_db(transaction=True)
async def test_a_page_that_says_so_is_sent_what_was_appended_and_others_whole_blocks(ada, scripted):
    scripted.script(model.answer(model.text([f"- item *{number}* of many\n" for number in range(40)], pace=0.02)))
    session = uuid.uuid4()
    async with Client(ada) as new, Client(ada) as old:
        await new.say("open", session=str(session), last_seq=0, appends=True)
        await new.hear("ready")
        await old.open(session)
        await new.ask(session, "List it.")
        await old.hear("done", final=True)
    frames = [[frame for frame in client.seen if frame["type"] == "block"] for client in (new, old)]
    assert not any("base" in frame for frame in frames[1])
    assert any("base" in frame for frame in frames[0])
    shown = [{}, {}]
    for number, page in enumerate((Page(), Page())):
        for frame in frames[number]:
            page.take(frame)
            shown[number].setdefault(frame["revision"], page.held[frame["index"]][1])
        assert not page.has_missed
    both = shown[0].keys() & shown[1].keys()
    assert len(both) > 3
    assert all(shown[0][revision] == shown[1][revision] for revision in both)


@pytest.mark.django_db(transaction=True)
async def test_a_page_that_opens_again_in_the_middle_is_sent_the_whole(ada, scripted):
    scripted.script(model.answer(model.text([f"- item *{number}* of many\n" for number in range(60)], pace=0.03)))
    session, page = uuid.uuid4(), Page()
    async with Client(ada) as client:
        await client.say("open", session=str(session), last_seq=0, appends=True)
        await client.hear("ready")
        await client.send(session, "List it.")
        for _ in range(6):
            await client.hear("block")
        del client.seen[:]
        await client.say("open", session=str(session), last_seq=1, appends=True)
        await client.hear("ready")
        del client.seen[:]
        await client.hear("done", final=True)
    frames = [frame for frame in client.seen if frame["type"] == "block"]
    assert "base" not in frames[0]
    for frame in frames:
        page.take(frame)
    assert not page.has_missed
    assert len(frames) > 2
