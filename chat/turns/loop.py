"""The agent loop: request → stream → tools → save, until an answer without tool calls.

A turn is a task of the process, not of a socket: a closed page does not end it. It ends with its last answer, by Stop,
by a limit, by a failure of the model, or because the process stops.
"""

import asyncio
import contextlib
import enum
import logging
from collections.abc import AsyncGenerator, Callable, Coroutine, Iterator, Sequence
from contextlib import aclosing
from dataclasses import replace
from functools import partial
from typing import Any, TypeVar

from django.conf import settings

from chat import extensions
from chat.compaction import room
from chat.context import notices
from chat.context.prompt import build_request, set_answer_meta, upstream_meta, withhold_earlier_thinking
from chat.conversations import transcript
from chat.conversations.payers import payer_of_answers
from chat.extensions import BeforeAgentStart, FinishedCall, TurnFinished
from chat.models import ChatSession, Message, Turn, Version
from chat.rendering.cards import Card
from chat.rendering.shown import ShownMessage
from chat.signals import turn_finished
from chat.turns import admission, answer_lines, commands, hooks, waiting_calls
from chat.turns.answer import PAUSE, REFUSAL, GrowingAnswer, end_columns, failure_after
from chat.turns.checkpoints import checkpoints
from chat.turns.listener import TurnListener
from chat.turns.persist import persist
from chat.turns.slots import turn_slots
from chat.turns.sources import TurnSources
from chat.turns.tools import CALLS_MAX_COUNT, WaitingCall, call_tool, in_groups, not_run
from chat.turns.turn_room import TurnRoom
from chat.turns.waiting_calls import BegunCall
from oneclaw import llm
from oneclaw.llm import descriptions
from oneclaw.spend.calls import Spending
from oneclaw.telemetry.turns import measured
from oneclaw.text import replace_unstorable
from oneclaw.threads import in_database, in_tool_thread

logger = logging.getLogger(__name__)
R = TypeVar("R")
# The most that is kept of what a server says about a request that it refuses.
SAID_MAX_CHARS = 500


def start(
    turn: Turn,
    answer: Message,
    listen: "ListenerFactory",
    prompt: ShownMessage | None = None,
    version: Version | None = None,
    *,
    is_first: bool = False,
) -> "RunningTurn":
    """Run `turn` as a task of this process. `listen` makes its listener; `prompt` is its user message if new, and
    `version` that of its answer, if there are others. `is_first`: this process has just stored its conversation."""
    running = RunningTurn(turn, answer, listen, version, is_first=is_first)
    running.listener.begun(prompt)
    return running


class Form(enum.Enum):
    """How the requests of a turn are sent."""

    WHOLE = enum.auto()
    UNTHINKING = enum.auto()
    PLAIN = enum.auto()


class TurnEndedError(Exception):
    """The turn was stopped, interrupted or lost."""


# The turns that this process runs; referenced here, because the event loop only has weak references to tasks.
running_turns: set["RunningTurn"] = set()


class RunningTurn:
    """One turn while this process runs it."""

    def __init__(
        self,
        turn: Turn,
        answer: Message,
        listen: "ListenerFactory",
        version: Version | None = None,
        *,
        is_first: bool = False,
    ) -> None:
        self.turn = turn
        self.version = version
        # Whether the first request is built from what this process has just stored, without reading it.
        self._is_first = is_first
        self.answer = GrowingAnswer(answer)
        self.spending = Spending(payer_of_answers(turn))
        # "stopped", "interrupted" or "lost" once the end was requested.
        self.ending = ""
        # Whether the turn can be ended at once: it waits for a slot, or the model streams.
        self._is_endable = self._has_slot = False
        self._deadline = 0.0  # by the event loop's clock: when the model has had its time
        # Whether it was checked, before the first request, that the conversation fits into the model's window.
        self._has_room = False
        self._sources = TurnSources()
        self._room = TurnRoom()
        self._form = Form.WHOLE
        # Whether the model must answer in words now, was told that its answer has none, and how often it has paused.
        self._must_answer = self._was_asked_again = False
        self._pauses = 0
        # The model that hooks chose for this turn, "" for that of the conversation; None before they were asked.
        self._model: str | None = None
        # The finished tool calls, and what the answer said with them.
        self._calls: list[FinishedCall] = []
        self._said: list[str] = []
        # Whether a request was built, so that the session is loaded with its head.
        self._has_asked = False
        self.listener = listen(self)
        self.task = asyncio.create_task(measured(turn, self._run()))
        self.task.add_done_callback(log_failure)
        running_turns.add(self)
        checkpoints.add(self)

    def end(self, how: str) -> None:
        """End the turn as `how` (stopped, interrupted, lost): at once, or after its tools while these run."""
        if not self.ending:
            self.ending = how
            if self._is_endable:
                self.task.cancel()

    async def _run(self) -> None:
        try:
            try:
                await self._answer()
            finally:
                self._release_slot()
                checkpoints.remove(self)
                self.listener.closed()
                if self.spending.rows:  # It was not this process that ended it.
                    await persist(self.spending.store_rest)
            # Only now: the answer is stored and shown, and the next turn need not wait for the receivers.
            await self._notify_receivers()
        except transcript.LeaseLostError:
            logger.warning("Turn %s was ended by another process.", self.turn.pk)
        finally:
            running_turns.discard(self)

    async def _answer(self) -> None:
        try:
            finished = await self._rounds()
            has_said = any(said.strip() for said in self._said)
            failure = failure_after(finished, is_empty=self.answer.is_empty and not has_said)
            await self._finish("failed" if failure else "complete", failure, finished)
        except TurnEndedError:
            await self._finish(self.ending)
        except TimeoutError:
            # When Stop came at the same moment, the turn counts as stopped.
            await (self._finish(self.ending) if self.ending else self._finish("failed", llm.TurnTimeoutError()))
        except llm.ModelRequestError as failure:
            logger.info("Turn %s: %s", self.turn.pk, failure)
            await self._finish("failed", failure)
        except transcript.LeaseLostError:
            raise
        except Exception:
            with self.spending.storing() as spends:
                await persist(transcript.interrupt_own_turn, self.turn, spends)
            raise

    async def _rounds(self) -> llm.Finished:
        """Request answers and run their tools; return how the last answer, which calls no tool, finished."""
        needs_slot = not await self._is_command()
        self._deadline = asyncio.get_running_loop().time() + settings.TURN_TIMEOUT
        self._must_answer, rounds = not settings.TOOL_ROUNDS, 0
        while True:
            if needs_slot and not self._has_slot:
                await self._take_slot()
            async with asyncio.timeout_at(self._deadline):
                finished, broken = await self._stream_or_heal()
            self._room.answered(finished, self.answer.content)
            if uses := [block for block in self.answer.content if block["type"] == "tool_use"]:
                if self._must_answer:
                    raise llm.ToolsWithoutEndError("called tools again when it was told not to")
                rounds += 1
                self._must_answer = rounds == settings.TOOL_ROUNDS
                await self._use_tools(uses, broken, finished, [notices.ANSWER_NOW] if self._must_answer else [])
            elif notice := self._notice_after(finished):
                await self._go_on(finished, notice)
            else:
                return finished
            if self.ending:
                raise TurnEndedError

    def _notice_after(self, finished: llm.Finished) -> llm.Block | None:
        """Return the notice to the model after an answer that is not the last one; None when it is."""
        if finished.stop_reason == PAUSE and self._pauses < settings.TOOL_ROUNDS:
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

    async def _go_on(self, finished: llm.Finished, notice: llm.Block) -> None:
        """Keep this answer, and begin the next one, before which the model reads `notice`."""
        answer, content = self.answer.message, self.answer.content
        self._said.append(self.answer.text)
        self._room.brought([notice])
        with self.spending.storing() as spends:
            ended = end_columns(finished)
            following = await persist(transcript.finish_part, self.turn, answer, content, notice, spends, **ended)
        self._begin_next(answer, {}, following)

    def _begin_next(self, answer: Message, cards: dict[str, Card], following: Message) -> None:
        self.answer = GrowingAnswer(following)
        self.listener.round_finished(answer, cards, following)

    async def _is_command(self) -> bool:
        """Return whether the message is a tool command, which is answered without the model."""
        called = commands.call_in(self.turn.prompt)
        return called is not None and await persist(commands.reply_to, self.turn) is not None

    async def _take_slot(self) -> None:
        """Wait until this turn may ask the model."""
        user_id = self.turn.person_id
        has_waited = not turn_slots.is_free(user_id)
        if has_waited:
            self.listener.waiting(True)
        began = asyncio.get_running_loop().time()
        with self._endable():
            await turn_slots.take(user_id)
            self._has_slot = True
        self._deadline += asyncio.get_running_loop().time() - began
        if has_waited:
            self.listener.waiting(False)
            # A line of it may have been forgotten meanwhile: the first request reads the rows.
            self._is_first = False

    def _release_slot(self) -> None:
        """Let another turn ask the model, if this one may."""
        if self._has_slot:
            self._has_slot = False
            turn_slots.release(self.turn.person_id)

    @contextlib.contextmanager
    def _endable(self) -> Iterator[None]:
        """Let `end` cancel the block, which then raises TurnEndedError."""
        if self.ending:
            raise TurnEndedError
        self._is_endable = True
        try:
            yield
        except asyncio.CancelledError:
            if self.ending and self.task.uncancel() == 0:
                raise TurnEndedError from None
            raise
        finally:
            self._is_endable = False

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
                await persist(room.drop_block, self.turn)
            except llm.ThinkingBoundError as failure:
                if not may_withhold:
                    raise
                may_withhold = False
                logger.error("Turn %s: earlier thinking was refused, and is withheld: %s", self.turn.pk, failure)
                await persist(withhold_earlier_thinking, self.turn)
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
                    await persist(withhold_earlier_thinking, self.turn)
                else:
                    self._form = Form.PLAIN

    async def _make_room_at_once(self, keeps: list[room.Keep]) -> bool:
        """Take earlier messages out of the next request, those that the first of `keeps` leaves; return whether that
        changes anything."""
        while keeps:
            if await self._while_waiting(room.make_room_at_once(self.turn, keeps.pop(0), self.listener.making_room)):
                return True
        return False

    async def _while_waiting(self, waiting: Coroutine[Any, Any, R]) -> R:
        """Return the result of `waiting`, which Stop cancels. Raise TurnEndedError."""
        try:
            with self._endable():
                return await waiting
        finally:
            # Not begun, if the turn had ended before.
            waiting.close()

    async def _stream(self) -> tuple[llm.Finished, dict[str, str]]:
        """Read one answer as it grows; return how it finished, and the faults in tool arguments by tool_use id."""
        source = await self._source()
        broken: dict[str, str] = {}
        with self._endable():
            async with aclosing(source) as events:
                async for event in events:
                    match event:
                        case llm.TextDelta(index, text) | llm.ThinkingDelta(index, text):
                            self.answer.add_text(index, text)
                            self.listener.grew()
                        case llm.BlockStarted(index, block):
                            self.answer.start(index, block)
                        case llm.BlockFinished(index, block, error):
                            self.answer.finish(index, block)
                            if block["type"] == "tool_use":
                                self.listener.tool_called(block)
                            if error:
                                broken[block["id"]] = error
                        case llm.Retrying(failure, seconds):
                            self.listener.retrying(failure, seconds)
                        case llm.Finished():
                            self.answer.message.meta |= upstream_meta(self.answer.message, event)
                            return event, broken
        raise llm.CutOffError("the stream ended without an end")

    async def _source(self) -> AsyncGenerator[llm.Event]:
        """Return the events of the next answer: of a tool command, or of the model."""
        called = commands.call_in(self.turn.prompt)
        if called and (reply := await persist(commands.reply_to, self.turn)) is not None:
            return commands.stream_reply(reply)
        if self._model is None and extensions.hooks_at(BeforeAgentStart):
            self._is_first = False
            self._model = await self._while_waiting(in_tool_thread(hooks.before_agent_start, self.turn))
        if self.turn.session.kind == ChatSession.Kind.SUB_SESSION:
            await persist(admission.refuse_if_used_up, self.turn)
        request = await self._request()
        self._has_asked = True
        if self._model:
            is_other = self._model != request.model
            request = replace(request, model=self._model, instead_of="" if is_other else request.instead_of)
        if self._form is not Form.WHOLE:
            request = replace(request, thinks=False, is_plain=self._form is Form.PLAIN)
        request = replace(request, must_answer=self._must_answer)
        self._room.asked(request)
        set_answer_meta(self.answer.message, request, self.turn)
        self.answer.message.meta |= self._sources.asked(self.turn, request)
        return llm.stream(request, self.spending)

    async def _request(self) -> llm.Request:
        """Return the next request; the first one after room was made for it, if needed."""
        if not self._has_room:
            if descriptions.is_awaited():
                await self._while_waiting(descriptions.first_answer())
                # As after the wait for a slot.
                self._is_first = False
            is_first, self._is_first = self._is_first, False
            begun = await persist(partial(room.begin_request, self.turn, is_first=is_first))
            if isinstance(begun, int):
                await self._while_waiting(room.make_room(self.turn, begun, self.listener.making_room))
            self._has_room = True
            if isinstance(begun, llm.Request):
                return begun
        elif self._room.left < 0 and settings.COMPACTION:
            # Its own results have filled the window: messages before this turn give way, if there are any.
            await self._make_room_at_once([room.Keep.NEWEST_TURNS, room.Keep.LAST_TURN])
            # A request that is sent once more in another form takes nothing more out.
            self._room.made()
        return await persist(build_request, self.turn)

    async def _use_tools(
        self,
        uses: list[llm.Block],
        broken: dict[str, str],
        finished: llm.Finished,
        notes: Sequence[llm.Block],
    ) -> None:
        """Run the calls `uses` of this answer in order, and begin the next answer, which also reads `notes`."""
        answer = self.answer.message
        self._said.append(self.answer.text)
        with self.spending.storing() as spends:
            ended = end_columns(finished)
            results = await persist(transcript.finish_round, self.turn, answer, self.answer.content, spends, **ended)
        found: dict[str, llm.Block] = {}
        cards: dict[str, Card] = {}
        waiting: list[BegunCall] = []
        for group in in_groups(uses[:CALLS_MAX_COUNT]):
            running = [in_tool_thread(call_tool, self.turn, answer, use, broken.get(use["id"], "")) for use in group]
            for use, called in zip(group, await asyncio.gather(*running), strict=True):
                if isinstance(called, WaitingCall):
                    waiting.append((called, asyncio.ensure_future(called.pending.begin())))
                    cards[use["id"]] = called.card
                else:
                    found[use["id"]], cards[use["id"]] = called
                self.listener.tool_finished(use, cards[use["id"]])
        for use in uses[CALLS_MAX_COUNT:]:
            found[use["id"]], cards[use["id"]] = not_run(use)
            self.listener.tool_finished(use, cards[use["id"]])
        if waiting:
            await self._await_calls(answer, results, waiting, found, cards)
        self._calls += [answer_lines.finished_call(use, found[use["id"]], cards[use["id"]]) for use in uses]
        content = [*(found[use["id"]] for use in uses), *notes]
        sent = self._sources.found(uses, {use["id"]: found[use["id"]] for use in uses}, results, self._room.left)
        self._room.brought(sent)
        meta = self._sources.meta
        following = await persist(transcript.finish_tools, self.turn, answer, results, content, cards, meta)
        self._begin_next(answer, cards, following)

    async def _await_calls(
        self,
        answer: Message,
        results: Message,
        waiting: Sequence[BegunCall],
        found: dict[str, llm.Block],
        cards: dict[str, Card],
    ) -> None:
        """Await the results of calls that take long, and add their blocks and cards to `found` and `cards`.

        Others may use the slot meanwhile, so that no turn waits for one that waits for its slot. Stop ends the waiting.
        """
        began = asyncio.get_running_loop().time()
        if any(call.pending.is_long for call, _ in waiting):
            await persist(waiting_calls.store_cards, self.turn, results, cards)
            self._release_slot()
        with contextlib.suppress(TurnEndedError):
            await self._while_waiting(waiting_calls.until_done(waiting))
        for call, task in waiting:
            finished = await in_tool_thread(call.finished, waiting_calls.result_of(call, task))
            found[call.use["id"]], cards[call.use["id"]] = finished
            self.listener.tool_finished(call.use, cards[call.use["id"]])
        self._deadline += asyncio.get_running_loop().time() - began

    async def _finish(
        self, status: str, failure: llm.ModelRequestError | None = None, finished: llm.Finished | None = None
    ) -> None:
        if status == "lost":
            raise transcript.LeaseLostError
        with self.spending.storing() as spends:
            message = await persist(
                transcript.finish_turn,
                self.turn,
                self.answer.message,
                self.answer.content,
                status,
                spends,
                code=failure.code if failure else "",
                error=failure.reason if failure else None,
                more_meta=lambda: self._line_meta() | said_by_server(failure),
                **(end_columns(finished) if finished else {}),
            )
        self.listener.finished(message, failure)

    def _line_meta(self) -> dict[str, Any]:
        """Return what is stored with the answer for the lines under it. Sync."""
        # A command asks no model, so nothing was sent.
        sent = self.turn.session.context if self._has_asked else {}
        return answer_lines.counted(self.turn.prompt, sent, self._calls, "\n\n".join([*self._said, self.answer.text]))

    async def _notify_receivers(self) -> None:
        """Send turn_finished, and notify the hooks."""
        if turn_finished.has_listeners(ChatSession):
            await in_database(hooks.send_turn_finished, self.turn)
        if extensions.hooks_at(TurnFinished):
            await in_tool_thread(hooks.turn_has_finished, self.turn, self.answer.message)


def said_by_server(failure: llm.ModelRequestError | None) -> dict[str, str]:
    """Return what is stored with an answer that has failed for administrators: the words of the model's server."""
    words = failure.explanation.strip() if failure else ""
    return {Message.SERVER_SAID_KEY: replace_unstorable(words)[:SAID_MAX_CHARS]} if words else {}


ListenerFactory = Callable[[RunningTurn], TurnListener]


def log_failure(task: "asyncio.Task[None]") -> None:
    if not task.cancelled() and (error := task.exception()) is not None:
        logger.error("A turn failed.", exc_info=error)


async def shutdown(seconds: float = 4.0) -> None:
    """End every turn of this process as interrupted, and wait up to `seconds` until they are saved."""
    turns = list(running_turns)
    for running in turns:
        running.end("interrupted")
    if turns:
        await asyncio.wait([running.task for running in turns], timeout=seconds)
