"""The publisher of a running turn: which frames it sends to the sockets of its session, and when."""

import asyncio
import uuid
from collections.abc import Callable
from typing import Any

from django.conf import settings

from chat.conversations.shared import queue
from chat.conversations.shown import just_stored
from chat.conversations.transcript import cards_of_unrun
from chat.live.growing_blocks import GrowingBlock
from chat.live.rooms import room_of
from chat.live.server_frames import (
    MessageFrame,
    done_frame,
    failure_frame,
    making_room_frame,
    message_frame,
    retrying_frame,
    tool_frame,
    waiting_frame,
)
from chat.models import Message
from chat.rendering.cards import RUNNING_CARD, Card
from chat.rendering.shown import ShownMessage
from chat.turns import running
from chat.turns.answer import GrowingAnswer
from chat.turns.listener import TurnListener
from chat.turns.persist import persist
from chat.turns.running import RunningTurn
from oneclaw import pubsub
from oneclaw.llm import Block, ModelRequestError
from oneclaw.llm.transport.pace import frame_seconds

# A frame is not postponed for the inexactness of the timer with which the model's text is read.
EARLY_SECONDS = 0.01


# Referenced here, because the event loop only has weak references to tasks.
_next_answers: set["asyncio.Task[None]"] = set()


async def begin_next(session_id: uuid.UUID) -> None:
    """Answer the message that waits longest in a shared session, if there is one and no answer is running."""
    accepted = await persist(queue.accept_next, session_id, uuid.uuid4())
    if accepted is not None and accepted.turn is not None and accepted.answer is not None:
        running.start(accepted.turn, accepted.answer, TurnPublisher, just_stored(accepted.message))


def begin_next_soon(session_id: uuid.UUID) -> None:
    """Do `begin_next` in a task of this process."""
    _next_answers.add(task := asyncio.create_task(begin_next(session_id)))
    task.add_done_callback(_next_answers.discard)
    task.add_done_callback(running.log_failure)


def answer_left() -> Callable[[], None]:
    """Answer by this process, from now on, the messages that `queue.offer_left` offers; return a function that ends
    this. Of several processes, the first one answers."""

    def offered(payload: dict[str, Any]) -> None:
        # Else hints may have been missed; the next sweep sends them again.
        if "session" in payload:
            begin_next_soon(uuid.UUID(payload["session"]))

    return pubsub.subscribe(queue.LEFT_TOPIC, offered)


class TurnPublisher(TurnListener):
    """Publishes one running turn in the room of its session (a LiveTurn, too).

    The first text leaves at once, then a frame each `frame_seconds`. These are counted from when the text of the last
    frame was read: the model's text is read once in a frame too (oneclaw/llm/transport/reading.py), so that after a
    frame that had to wait the next one leaves when its text is read, and every later one as well. While the event loop
    is late, they are counted from when the last frame left.
    """

    def __init__(self, running: RunningTurn) -> None:
        self._running = running
        self._turn = running.turn
        self._room = room_of(running.turn.session.owner_id, running.turn.session_id)
        # Whether the sockets here have got everything before this turn. If not, closed() refreshes the room.
        self._follows = False
        # Whether the end was published here; if not, another process ended the turn.
        self._published_end = False
        # Whether it waits for a slot (chat/turns/slots.py).
        self.is_waiting = False
        # Incremented whenever blocks are sent: two of a block with the same revision are equal.
        self._revision = 0
        self._loop = asyncio.get_running_loop()
        self._grew_at = self._next_frame_at = 0.0
        self._timer: asyncio.TimerHandle | None = None

    @property
    def _answer(self) -> GrowingAnswer:
        return self._running.answer

    # -- Called by the turn --------------------------------------------------------------------------

    def begun(self, prompt: ShownMessage | None) -> None:
        room, answer = self._room, self._answer.message
        if prompt is not None:
            room.complete_seq = room.complete_seq or prompt.message.seq - 1
            room.publish(lambda: message_frame(prompt, {}))
        room.running = self
        self._follows = room.complete_seq >= answer.seq - 2
        room.publish(lambda: message_frame(self._shown(answer), {}))

    def waiting(self, is_waiting: bool) -> None:
        self.is_waiting = is_waiting
        self._room.publish(lambda: waiting_frame(is_waiting))

    def grew(self) -> None:
        self._grew_at = self._loop.time()
        if self._timer is None:
            delay = self._next_frame_at - self._grew_at
            if delay <= EARLY_SECONDS:
                self._publish_blocks()
            else:
                self._timer = self._loop.call_later(delay, self._publish_blocks)

    def tool_called(self, use: Block) -> None:
        self._cancel_timer()
        self._publish_blocks()
        self._publish_card(use, RUNNING_CARD)

    def tool_finished(self, use: Block, card: Card) -> None:
        self._publish_card(use, card)

    def round_finished(self, answer: Message, cards: dict[str, Card], following: Message) -> None:
        self._publish_finished(answer, cards, final=False)
        self._room.publish(lambda: message_frame(self._shown(following), {}))

    def making_room(self) -> None:
        self._room.publish(making_room_frame)

    def retrying(self, failure: ModelRequestError, seconds: float) -> None:
        self._room.publish(lambda: retrying_frame(failure, seconds))

    def finished(self, answer: Message, failure: ModelRequestError | None) -> None:
        answer.turn = self._turn
        self._published_end = True
        self._publish_finished(answer, cards_of_unrun(answer), final=True)
        if failure:
            self._room.publish(lambda: failure_frame(answer, failure))

    def closed(self) -> None:
        self._cancel_timer()
        self._room.forget_blocks()
        if self._room.running is self:
            self._room.running = None
        if self._room.behind or not self._follows or not self._published_end:
            self._room.refresh()
        self._room.close_if_empty()
        if self._turn.session.is_shared:
            begin_next_soon(self._turn.session_id)

    # -- Called by the room ----------------------------------------------------------------------------

    def stop(self, turn_id: int | None) -> None:
        if turn_id in (None, self._turn.pk):
            self._running.end("stopped")

    def message_frame(self) -> MessageFrame:
        return message_frame(self._shown(self._answer.message), {})

    def blocks(self) -> list[GrowingBlock]:
        self._revision += 1
        return [self._block(index, html) for index, html in enumerate(self._answer.shown())]

    # -- Internals -----------------------------------------------------------------------------------

    def _shown(self, answer: Message) -> ShownMessage:
        is_for_several = self._turn.session.is_shared
        return ShownMessage(answer, self._running.version, is_for_several=is_for_several)

    def _publish_finished(self, answer: Message, cards: dict[str, Card], *, final: bool) -> None:
        self._cancel_timer()
        if self._follows:
            self._room.complete_seq = max(self._room.complete_seq, answer.seq)
        self._room.forget_blocks()
        self._room.publish_whole(lambda: [message_frame(self._shown(answer), cards), done_frame(answer, final=final)])

    def _publish_blocks(self) -> None:
        self._timer = None
        seconds = frame_seconds()
        # A late event loop sends fewer frames, whenever their text was read.
        is_late = seconds > 1 / settings.FRAMES_PER_SECOND
        self._next_frame_at = (self._loop.time() if is_late else self._grew_at) + seconds
        if not self._room.outboxes:
            return
        self._revision += 1
        for index, html in self._answer.changes():
            self._room.publish_block(self._block(index, html))

    def _block(self, index: int, html: str) -> GrowingBlock:
        return GrowingBlock(str(self._answer.message.pk), index, self._revision, html)

    def _publish_card(self, use: Block, card: Card) -> None:
        answer = self._answer.message
        self._room.publish(lambda: tool_frame(answer, use, card), ("tool", use["id"]))

    def _cancel_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
