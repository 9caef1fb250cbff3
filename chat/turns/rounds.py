"""The agent loop: request → stream → tools → save, until an answer without tool calls.

`Rounds` is the loop of every turn. Where and how long it runs, and what a call may do, is decided by its `Conduct`:
chat/turns/running.py for turns that stream to a page, chat/schedules/ask.py for scheduled ones.
"""

import asyncio
import contextlib
import enum
import logging
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Sequence
from contextlib import AbstractContextManager, aclosing
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ParamSpec, Protocol, TypeVar

from django.conf import settings

from chat.compaction import room
from chat.context import notices
from chat.context.prompt import build_request, set_answer_meta, upstream_meta, withhold_earlier_thinking
from chat.conversations import transcript
from chat.extensions import FinishedCall
from chat.models import Message, Turn
from chat.rendering.cards import Card
from chat.turns import answer_lines, waiting_calls
from chat.turns.answer import PAUSE, REFUSAL, GrowingAnswer, end_columns
from chat.turns.listener import RoundsListener
from chat.turns.sources import TurnSources
from chat.turns.tools import CALLS_MAX_COUNT, WaitingCall, in_groups, not_run
from chat.turns.turn_room import TurnRoom
from chat.turns.waiting_calls import BegunCall
from oneclaw import llm
from oneclaw.spend.calls import Spending

logger = logging.getLogger(__name__)
P = ParamSpec("P")
R = TypeVar("R")


class Form(enum.Enum):
    """Name how the requests of a turn are sent."""

    WHOLE = enum.auto()
    UNTHINKING = enum.auto()
    PLAIN = enum.auto()


class TurnEndedError(Exception):
    """The turn was stopped, interrupted or lost."""


@dataclass(frozen=True)
class Limits:
    """Limit what one turn may do.

    `rounds` answers may call tools. Before the last answer the model reads `last_notice`, and that answer may only call
    `last_tools`; without any, tools are forbidden in it. `max_tokens` limits each answer, unless it is 0.
    """

    rounds: int
    seconds: float
    last_notice: llm.Block
    last_tools: frozenset[str] = frozenset()
    max_tokens: int = 0
    thinks: bool = True


class Conduct(Protocol):
    """Decide about a turn for the process that runs it."""

    @property
    def limits(self) -> Limits:
        """Return the limits of the turn."""

    @property
    def listener(self) -> RoundsListener:
        """Return the object that is called at each step."""

    async def write(self, function: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
        """Call sync `function`, which is idempotent and uses the database, and return its result."""

    async def call(self, answer: Message, use: llm.Block, broken: str) -> tuple[llm.Block, Card] | WaitingCall:
        """Run a tool call of `answer`, as `chat.turns.tools.call_tool` does."""

    async def finish_call(self, call: WaitingCall, result: Any) -> tuple[llm.Block, Card]:
        """Return the block and the card of a call that was waited for."""

    def endable(self) -> AbstractContextManager[None]:
        """Let the end of the turn cancel the block, which then raises TurnEndedError."""

    async def begin_answer(self) -> None:
        """Wait until the model may be asked."""

    async def events(self, rounds: "Rounds") -> AsyncGenerator[llm.Event]:
        """Return the events of the next answer; usually of `rounds.ask_model()`."""

    async def answered(self, finished: llm.Finished) -> None:
        """Handle the end of one answer."""

    def waits_long(self) -> None:
        """Handle that a call takes long, while which the model is not asked."""

    def goes_on(self) -> bool:
        """Return whether another answer follows. Raise TurnEndedError."""


class Rounds:
    """The answers of one turn."""

    def __init__(self, turn: Turn, answer: Message, conduct: Conduct, spending: Spending) -> None:
        self.turn, self.conduct, self.spending = turn, conduct, spending
        self.answer = GrowingAnswer(answer)
        # By the event loop's clock, when the model has had its time.
        self.deadline = 0.0
        # Whether the first request is built from what this process has just stored, without reading it.
        self.is_first = False
        # The model that hooks chose for this turn; "": that of the conversation.
        self.model = ""
        # Whether a request was built, so that the session is loaded with its head.
        self.has_asked = False
        # The finished tool calls, and what the answer said with them.
        self.calls: list[FinishedCall] = []
        self.said: list[str] = []
        self.cited_before: frozenset[str] = frozenset()
        # Whether it was checked, before the first request, that the conversation fits into the model's window.
        self._has_room = False
        self._sources = TurnSources()
        self._room = TurnRoom()
        self._form = Form.WHOLE
        # Whether the next answer is the last one, the model was told that its answer has no words, and how often it has
        # paused.
        self._is_last = self._was_asked_again = False
        self._pauses = 0

    @property
    def text(self) -> str:
        """Return all that the answers say."""
        return "\n\n".join([*self.said, self.answer.text])

    @property
    def cited(self) -> frozenset[str]:
        """Return the marks of all that the answers cite."""
        return self.cited_before | self.answer.cited

    async def run(self) -> llm.Finished:
        """Request answers and run their tools; return how the last answer finished, which calls no tool or ends the
        turn. Raise ModelRequestError, TurnEndedError, TimeoutError and LeaseLostError."""
        limits, rounds = self.conduct.limits, 0
        self.deadline = asyncio.get_running_loop().time() + limits.seconds
        self._is_last = not limits.rounds
        while True:
            await self.conduct.begin_answer()
            async with asyncio.timeout_at(self.deadline):
                finished, broken = await self._stream_or_heal()
            self._room.answered(finished, self.answer.content)
            await self.conduct.answered(finished)
            uses = [block for block in self.answer.content if block["type"] == "tool_use"]
            if uses and not (self._is_last and limits.last_tools.isdisjoint(use["name"] for use in uses)):
                rounds += 1
                self._is_last = rounds == limits.rounds
                await self._use_tools(uses, broken, finished, [limits.last_notice] if self._is_last else [])
            elif uses and not limits.last_tools:
                raise llm.ToolsWithoutEndError("called tools again when it was told not to")
            elif not uses and (notice := self._notice_after(finished)):
                await self._go_on(finished, notice)
            else:
                return finished
            if not self.conduct.goes_on():
                return finished

    def _notice_after(self, finished: llm.Finished) -> llm.Block | None:
        """Return the notice to the model after an answer that is not the last one; None when it is."""
        if finished.stop_reason == PAUSE and self._pauses < self.conduct.limits.rounds:
            self._pauses += 1
            return notices.GO_ON
        if (
            self.answer.is_empty
            and not self._was_asked_again
            and finished.stop_reason not in (REFUSAL, *Message.CUT_ENDINGS)
        ):
            self._was_asked_again = True
            return notices.PLEASE_ANSWER
        return None

    def _keep_said(self) -> None:
        """Keep what this answer says and cites, before the next one begins."""
        self.said.append(self.answer.text)
        self.cited_before |= self.answer.cited

    async def _go_on(self, finished: llm.Finished, notice: llm.Block) -> None:
        """Keep this answer, and begin the next one, before which the model reads `notice`."""
        answer, content = self.answer.message, self.answer.content
        self._keep_said()
        self._room.brought([notice])
        with self.spending.storing() as spends:
            ended = end_columns(finished)
            following = await self.conduct.write(
                transcript.finish_part, self.turn, answer, content, notice, spends, **ended
            )
        self._begin_next(answer, {}, following)

    def _begin_next(self, answer: Message, cards: dict[str, Card], following: Message) -> None:
        self.answer = GrowingAnswer(following)
        self.conduct.listener.round_finished(answer, cards, following)

    async def _stream_or_heal(self) -> tuple[llm.Finished, dict[str, str]]:
        """Do as _stream; once more without earlier thinking when the provider refuses it, which is a defect; without
        its own signed summary when it does not take that any more; with a summary of earlier messages when the request
        is too long; and when the server refuses it for a reason that is not known, without any thinking, and then as
        plain text."""
        keeps = [room.Keep.NEWEST_TURNS, room.Keep.LAST_TURN]
        may_withhold = may_drop = True
        while True:
            try:
                return await self._stream()
            except (llm.CompactionUnsupportedError, llm.CompactionBlockError) as failure:
                if not may_drop:
                    raise
                may_drop = False
                logger.warning("Turn %s: the signed summary is sent as text: %s", self.turn.pk, failure)
                await self.conduct.write(room.drop_block, self.turn)
            except llm.ThinkingBoundError as failure:
                if not may_withhold:
                    raise
                may_withhold = False
                logger.error("Turn %s: earlier thinking was refused, and is withheld: %s", self.turn.pk, failure)
                await self.conduct.write(withhold_earlier_thinking, self.turn)
            except llm.ContextTooLongError as failure:
                if self.answer.content or not await self._make_room_at_once(keeps):
                    failure.is_by_message = self._room.is_taken_by_prompt
                    raise
            except llm.BadRequestError as failure:
                if self.answer.content or self._form is Form.PLAIN:
                    raise
                logger.warning(
                    "Turn %s: the request was refused, and is sent in a plainer form: %s", self.turn.pk, failure
                )
                if self._form is Form.WHOLE:
                    self._form = Form.UNTHINKING
                    await self.conduct.write(withhold_earlier_thinking, self.turn)
                else:
                    self._form = Form.PLAIN

    async def _make_room_at_once(self, keeps: list[room.Keep]) -> bool:
        """Take earlier messages out of the next request, those that the first of `keeps` leaves; return whether that
        changes anything."""
        making_room = self.conduct.listener.making_room
        while keeps:
            if await self.while_waiting(room.make_room_at_once(self.turn, keeps.pop(0), making_room)):
                return True
        return False

    async def while_waiting(self, waiting: Coroutine[Any, Any, R]) -> R:
        """Return the result of `waiting`, which the end of the turn cancels. Raise TurnEndedError."""
        try:
            with self.conduct.endable():
                return await waiting
        finally:
            # Not begun, if the turn had ended before.
            waiting.close()

    async def _stream(self) -> tuple[llm.Finished, dict[str, str]]:
        """Read one answer as it grows; return how it finished, and the faults in tool arguments by tool_use id."""
        listener = self.conduct.listener
        source = await self.conduct.events(self)
        broken: dict[str, str] = {}
        with self.conduct.endable():
            async with aclosing(source) as events:
                async for event in events:
                    match event:
                        case llm.TextDelta(index, text) | llm.ThinkingDelta(index, text):
                            self.answer.add_text(index, text)
                            listener.grew()
                        case llm.BlockStarted(index, block):
                            self.answer.start(index, block)
                        case llm.BlockFinished(index, block, error):
                            self.answer.finish(index, block)
                            if block["type"] == "tool_use":
                                listener.tool_called(block)
                            if error:
                                broken[block["id"]] = error
                        case llm.Retrying(failure, seconds):
                            listener.retrying(failure, seconds)
                        case llm.Finished():
                            self.answer.message.meta |= upstream_meta(self.answer.message, event)
                            return event, broken
        raise llm.CutOffError("the stream ended without an end")

    async def ask_model(self) -> AsyncGenerator[llm.Event]:
        """Send the next request, and return the events of its answer."""
        request, limits = await self._request(), self.conduct.limits
        self.has_asked = True
        if self.model:
            is_other = self.model != request.model
            request = replace(request, model=self.model, instead_of="" if is_other else request.instead_of)
        if self._form is not Form.WHOLE or not limits.thinks:
            request = replace(request, thinks=False, is_plain=self._form is Form.PLAIN)
        if limits.max_tokens:
            request = replace(request, max_tokens=limits.max_tokens)
        request = replace(request, must_answer=self._is_last and not limits.last_tools)
        self._room.asked(request)
        set_answer_meta(self.answer.message, request, self.turn)
        self.answer.message.meta |= self._sources.asked(self.turn, request)
        return llm.stream(request, self.spending)

    async def _request(self) -> llm.Request:
        """Return the next request; the first one after room was made for it, if needed."""
        if not self._has_room:
            is_first, self.is_first = self.is_first, False
            begun = await self.conduct.write(partial(room.begin_request, self.turn, is_first=is_first))
            if isinstance(begun, int):
                await self.while_waiting(room.make_room(self.turn, begun, self.conduct.listener.making_room))
            self._has_room = True
            if isinstance(begun, llm.Request):
                return begun
        elif self._room.left < 0 and settings.COMPACTION:
            # Its own results have filled the window: messages before this turn give way, if there are any.
            await self._make_room_at_once([room.Keep.NEWEST_TURNS, room.Keep.LAST_TURN])
            # A request that is sent once more in another form takes nothing more out.
            self._room.made()
        return await self.conduct.write(build_request, self.turn)

    async def _use_tools(
        self, uses: list[llm.Block], broken: dict[str, str], finished: llm.Finished, notes: Sequence[llm.Block]
    ) -> None:
        """Run the calls `uses` of this answer in order, and begin the next answer, which also reads `notes`."""
        answer, listener, write = self.answer.message, self.conduct.listener, self.conduct.write
        self._keep_said()
        with self.spending.storing() as spends:
            ended = end_columns(finished)
            results = await write(transcript.finish_round, self.turn, answer, self.answer.content, spends, **ended)
        found: dict[str, llm.Block] = {}
        cards: dict[str, Card] = {}
        waiting: list[BegunCall] = []
        for group in in_groups(uses[:CALLS_MAX_COUNT]):
            running: list[Awaitable[tuple[llm.Block, Card] | WaitingCall]] = [
                self.conduct.call(answer, use, broken.get(use["id"], "")) for use in group
            ]
            for use, called in zip(group, await asyncio.gather(*running), strict=True):
                if isinstance(called, WaitingCall):
                    waiting.append((called, asyncio.ensure_future(called.pending.begin())))
                    cards[use["id"]] = called.card
                else:
                    found[use["id"]], cards[use["id"]] = called
                listener.tool_finished(use, cards[use["id"]])
        for use in uses[CALLS_MAX_COUNT:]:
            found[use["id"]], cards[use["id"]] = not_run(use)
            listener.tool_finished(use, cards[use["id"]])
        if waiting:
            await self._await_calls(results, waiting, found, cards)
        self.calls += [answer_lines.finished_call(use, found[use["id"]], cards[use["id"]]) for use in uses]
        content = [*(found[use["id"]] for use in uses), *notes]
        sent = self._sources.found(uses, {use["id"]: found[use["id"]] for use in uses}, results, self._room.left)
        self._room.brought(sent)
        meta = self._sources.meta
        following = await write(transcript.finish_tools, self.turn, answer, results, content, cards, meta)
        self._begin_next(answer, cards, following)

    async def _await_calls(
        self, results: Message, waiting: Sequence[BegunCall], found: dict[str, llm.Block], cards: dict[str, Card]
    ) -> None:
        """Await the results of calls that take long, and add their blocks and cards to `found` and `cards`. The end of
        the turn ends the waiting."""
        began = asyncio.get_running_loop().time()
        if any(call.pending.is_long for call, _ in waiting):
            await self.conduct.write(waiting_calls.store_cards, self.turn, results, cards)
            self.conduct.waits_long()
        with contextlib.suppress(TurnEndedError):
            await self.while_waiting(waiting_calls.until_done(waiting))
        for call, task in waiting:
            finished = await self.conduct.finish_call(call, waiting_calls.result_of(call, task))
            found[call.use["id"]], cards[call.use["id"]] = finished
            self.conduct.listener.tool_finished(call.use, cards[call.use["id"]])
        self.deadline += asyncio.get_running_loop().time() - began
