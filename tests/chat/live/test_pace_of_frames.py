"""Text is shown one frame after it was sent, not two: frames follow the reads of the model's stream."""

import asyncio
import selectors
import uuid
from types import SimpleNamespace

import pytest

from chat.live import publisher as publisher_module
from chat.live.publisher import TurnPublisher
from chat.models import Message
from chat.turns.answer import GrowingAnswer
from oneclaw.llm.transport.pace import frame_seconds

DELTA_SECONDS = 0.02


class Skipping(selectors.SelectSelector):
    """A selector that waits for nothing: the clock of its loop is moved instead."""

    now = 0.0

    def select(self, timeout=None):
        self.now += timeout or 0
        return super().select(0)


class SkippingLoop(asyncio.SelectorEventLoop):
    def __init__(self):
        self.selector = Skipping()
        super().__init__(self.selector)

    def time(self):
        return self.selector.now


class Reader:
    """Reads deltas that are sent every DELTA_SECONDS as oneclaw/llm/transport/reading.py does: for a frame each as it
    comes, then once in a frame. `early` are the numbers of reads that come in the middle of a frame."""

    def __init__(self, publisher, answer, early=()):
        self.publisher, self.answer, self.early = publisher, answer, early
        self.read = 0

    async def run(self, deltas):
        loop = asyncio.get_running_loop()
        begun, reads = loop.time(), 0
        while self.read < deltas:
            sent = int((loop.time() - begun) / DELTA_SECONDS + 1e-6) + 1
            if sent > self.read:
                # What was read together is one event.
                self.answer.add_text(0, "".join(f" w{number}" for number in range(self.read, sent)))
                self.publisher.grew()
            self.read = sent
            is_held = loop.time() >= begun + frame_seconds()
            share = 0.5 if reads in self.early else 1
            await asyncio.sleep(frame_seconds() * share if is_held else DELTA_SECONDS)
            reads += is_held


def shown_late(early=(), deltas=200):
    """For each delta, the seconds from when it was sent to when it was in a frame; and the number of frames."""
    found = {}

    async def measured():
        loop = asyncio.get_running_loop()
        session = SimpleNamespace(owner_id=1, is_shared=False)
        answer = GrowingAnswer(Message(pk=1, seq=2))
        turn = SimpleNamespace(session=session, session_id=uuid.uuid4())
        frames = []

        def publish(block):
            frames.append(loop.time())
            for number in range(block.html.count("w")):
                found.setdefault(number, loop.time() - number * DELTA_SECONDS)

        room = SimpleNamespace(outboxes={"a socket"}, publish_block=publish)
        with pytest.MonkeyPatch.context() as patched:
            # A real one hears of other tests.
            patched.setattr(publisher_module, "room_of", lambda *_: room)
            publisher = TurnPublisher(SimpleNamespace(turn=turn, answer=answer))
        await Reader(publisher, answer, early).run(deltas)
        return len(frames)

    with asyncio.Runner(loop_factory=SkippingLoop) as runner:
        frames = runner.run(measured())
    return found, frames


def test_text_is_never_later_than_a_frame_after_the_first_one():
    late, frames = shown_late()
    settled = [seconds for number, seconds in late.items() if number > 12]
    assert len(settled) > 150
    assert max(settled) < 1.1 / 12
    # Nor does it take more frames than before.
    assert frames <= 200 * DELTA_SECONDS * 12 + 2


@pytest.mark.parametrize("early", [{5}, {5, 11, 17}])
def test_a_read_that_comes_early_delays_what_follows_for_two_frames_at_most(early):
    late, frames = shown_late(early)
    slow = [number for number, seconds in late.items() if number > 12 and seconds > 1.1 / 12]
    assert len(slow) <= len(early) * 2 / 12 / DELTA_SECONDS
    assert frames <= 200 * DELTA_SECONDS * 12 + 2 + 2 * len(early)
