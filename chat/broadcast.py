"""From a running turn to the sockets of its session: when frames leave, and what they say."""

import asyncio
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from django.conf import settings
from django.utils.translation import gettext as _

from chat.answers import GrowingAnswer
from chat.fragments import RUNNING_CARD, card_html
from chat.live import Frame, done_frame, message_frame, room_of
from chat.models import Message

if TYPE_CHECKING:
    from chat.turns import RunningTurn
    from oneclaw.llm import ModelFailure


class Broadcast:
    """What one turn tells the room of its session. The first text leaves at once, then FRAMES_PER_SECOND."""

    def __init__(self, running: "RunningTurn", answer: Message) -> None:
        self.room = room_of(running.turn.session.owner_id, running.turn.session_id)
        self.room.running, self.room.told_by = self, running.turn.pk
        # Whether the sockets here have been sent everything before this turn. If not, close() has it sent.
        self._follows = self.room.settled_seq >= answer.seq - 2
        # Whether the end was told here; if not, somebody else ended the turn.
        self._told_end = False
        self.turn = running.turn
        self._running = running
        self.answer = GrowingAnswer(answer)
        self._loop = asyncio.get_running_loop()
        self._next_frame_at = 0.0
        self._timer: asyncio.TimerHandle | None = None

    def begun(self) -> None:
        self.room.publish(message_frame(self.answer.message))

    def stop(self, turn_id: int | None) -> None:
        """Somebody asked for the end of this turn (None: of whatever runs here)."""
        if turn_id in (None, self.turn.pk):
            self._running.end("stopped")

    def text(self, index: int, text: str) -> None:
        self.answer.add_text(index, text)
        if self._timer is None:
            delay = self._next_frame_at - self._loop.time()
            if delay <= 0:
                self._publish_blocks()
            else:
                self._timer = self._loop.call_later(delay, self._publish_blocks)

    def block(self, index: int, block: dict[str, Any]) -> None:
        """A block of the answer is whole; a tool call among them gets its card."""
        self.answer.finish(index, block)
        if block["type"] == "tool_use":
            self._publish_now()
            self._publish_card(block, RUNNING_CARD)

    def tool(self, use: dict[str, Any], card: dict[str, Any]) -> None:
        self._publish_card(use, card)

    def next_answer(self, cards: dict[str, Any], following: Message) -> None:
        """The round is over: the answer with its cards is final, and the next one begins to grow."""
        self._publish_settled(self.answer.message, cards, final=False)
        following.place = self.answer.message.place
        self.answer = GrowingAnswer(following)
        self.room.publish(message_frame(following))

    def retrying(self, failure: "ModelFailure", seconds: float) -> None:
        html = _("%(failure)s Retrying in %(seconds)d s.") % {
            "failure": failure.sentence,
            "seconds": max(1, round(seconds)),
        }
        self.room.publish({"type": "notice", "kind": "retrying", "html": html})

    def settled(self, message: Message, failure: "ModelFailure | None") -> None:
        """The turn is over."""
        message.turn = self.turn
        self._told_end = True
        self._publish_settled(message, None, final=True)
        if failure:
            self.room.publish(
                {
                    "type": "error",
                    "code": failure.code,
                    "text": failure.sentence,
                    "retry_after": failure.retry_after,
                    "message": str(message.pk),
                }
            )

    def growing_frames(self) -> list[Frame]:
        """The running answer as it is now, for a page that has just opened."""
        frames = [message_frame(self.answer.message)]
        for index, html in enumerate(self.answer.shown()):
            frames.append(self._block_frame(index, html))
        return frames

    def close(self) -> None:
        if self._timer:
            self._timer.cancel()
        if self.room.running is self:
            self.room.running = None
        if self.room.behind or not self._follows or not self._told_end:
            self.room.refresh()
        self.room.close_if_empty()

    def _publish_settled(self, message: Message, cards: dict[str, Any] | None, *, final: bool) -> None:
        if self._timer:
            self._timer.cancel()
            self._timer = None
        if self._follows:
            self.room.settled_seq = max(self.room.settled_seq, message.seq)
        self.room.publish_whole([message_frame(message, cards), done_frame(message, final=final)])

    def _publish_now(self) -> None:
        if self._timer:
            self._timer.cancel()
        self._publish_blocks()

    def _publish_blocks(self) -> None:
        self._timer = None
        self._next_frame_at = self._loop.time() + 1 / settings.FRAMES_PER_SECOND
        if not self.room.outboxes:
            return
        for index, html in self.answer.changes():
            self.room.publish(self._block_frame(index, html), ("block", self.answer.message.pk, index))

    def _block_frame(self, index: int, html: str) -> Frame:
        return {
            "type": "block",
            "message": str(self.answer.message.pk),
            "index": index,
            "revision": self.answer.revision,
            "html": html,
        }

    def _publish_card(self, use: dict[str, Any], card: Mapping[str, Any]) -> None:
        html = card_html(use, card)
        self.room.publish(
            {
                "type": "tool",
                "message": str(self.answer.message.pk),
                "id": use["id"],
                "name": use["name"],
                "state": card["state"],
                "html": html,
            },
            ("tool", use["id"]),
        )
