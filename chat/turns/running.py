"""The turns that this process runs and streams to pages: slots, Stop, checkpoints, and how they end.

A turn is a task of the process, not of a socket: a closed page does not end it. It ends with its last answer, by Stop,
by a limit, by a failure of the model, or because the process stops. Its loop is chat/turns/rounds.py.
"""

import asyncio
import contextlib
import logging
from collections.abc import AsyncGenerator, Callable, Iterator
from typing import Any, ParamSpec, TypeVar

from django.conf import settings

from chat import extensions
from chat.context import notices
from chat.conversations import transcript
from chat.conversations.payers import payer_of_answers
from chat.extensions import BeforeAgentStart, ToolResult, TurnFinished
from chat.models import ChatSession, Message, Turn, Version
from chat.rendering.cards import Card
from chat.rendering.shown import ShownMessage
from chat.signals import turn_finished
from chat.turns import admission, answer_lines, commands, hooks
from chat.turns.answer import GrowingAnswer, end_columns, failure_after
from chat.turns.checkpoints import checkpoints
from chat.turns.listener import TurnListener
from chat.turns.persist import persist
from chat.turns.rounds import Limits, Rounds, TurnEndedError
from chat.turns.slots import turn_slots
from chat.turns.starts import starts
from chat.turns.tools import WaitingCall, call_tool
from oneclaw import llm
from oneclaw.llm import descriptions
from oneclaw.spend.calls import Spending
from oneclaw.telemetry.turns import measured
from oneclaw.text import replace_unstorable
from oneclaw.threads import in_receiver_thread, in_tool_thread

logger = logging.getLogger(__name__)
P = ParamSpec("P")
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
        self.limits = Limits(settings.TOOL_ROUNDS, settings.TURN_TIMEOUT, notices.ANSWER_NOW)
        self.spending = Spending(payer_of_answers(turn))
        self.rounds = Rounds(turn, answer, self, self.spending)
        self.rounds.is_first = is_first
        # "stopped", "interrupted" or "lost" once the end was requested.
        self.ending = ""
        # Whether the turn can be ended at once: it waits for a slot, or the model streams.
        self._is_endable = self._has_slot = False
        # Whether it asks the model, which a tool command does not, and whether hooks were asked before it did.
        self._needs_slot = True
        self._has_begun = False
        self._start = starts.begin()
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
                self._start.end()
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

    @property
    def answer(self) -> GrowingAnswer:
        """Return the answer that grows."""
        return self.rounds.answer

    async def _answer(self) -> None:
        try:
            self._needs_slot = not await self._is_command()
            finished = await self.rounds.run()
            has_said = any(said.strip() for said in self.rounds.said)
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
            # Whatever a bug raises, the turn must not look as if it still ran; it is raised again, and logged.
            with self.spending.storing() as spends:
                await persist(transcript.interrupt_own_turn, self.turn, spends)
            raise

    async def _is_command(self) -> bool:
        """Return whether the message is a tool command, which is answered without the model."""
        called = commands.call_in(self.turn.prompt)
        return called is not None and await persist(commands.reply_to, self.turn) is not None

    async def begin_answer(self) -> None:
        """Wait until this turn may ask the model."""
        if not self._needs_slot or self._has_slot:
            return
        user_id = self.turn.person_id
        has_waited = not turn_slots.is_free(user_id)
        if has_waited:
            self._start.end()
            self.listener.waiting(True)
        began = asyncio.get_running_loop().time()
        with self.endable():
            await turn_slots.take(user_id)
            self._has_slot = True
        self.rounds.deadline += asyncio.get_running_loop().time() - began
        if has_waited:
            self.listener.waiting(False)
            # A line of it may have been forgotten meanwhile: the first request reads the rows.
            self.rounds.is_first = False

    def waits_long(self) -> None:
        """Let another turn ask the model, so that no turn waits for one that waits for its slot."""
        self._release_slot()

    def _release_slot(self) -> None:
        """Let another turn ask the model, if this one may."""
        if self._has_slot:
            self._has_slot = False
            turn_slots.release(self.turn.person_id)

    @contextlib.contextmanager
    def endable(self) -> Iterator[None]:
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

    def goes_on(self) -> bool:
        """Return True. Raise TurnEndedError once the end was requested."""
        if self.ending:
            raise TurnEndedError
        return True

    async def write(self, function: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
        """Return the result of `function`, which is called again while the database is away."""
        return await persist(function, *args, **kwargs)

    async def call(self, answer: Message, use: llm.Block, broken: str) -> tuple[llm.Block, Card] | WaitingCall:
        """Run a tool call of `answer`."""
        return await in_tool_thread(call_tool, self.turn, answer, use, broken)

    async def finish_call(self, call: WaitingCall, result: ToolResult) -> tuple[llm.Block, Card]:
        """Return the block and the card of a call that was waited for."""
        return await in_tool_thread(call.finished, result)

    async def answered(self, finished: llm.Finished) -> None:
        """Do nothing: what answers cost is counted by its spending."""

    async def events(self, rounds: Rounds) -> AsyncGenerator[llm.Event]:
        """Return the events of the next answer: of a tool command, or of the model."""
        called = commands.call_in(self.turn.prompt)
        if called and (reply := await persist(commands.reply_to, self.turn)) is not None:
            return commands.stream_reply(reply)
        if not self._has_begun:
            await self._before_first_request()
        if self.turn.session.kind == ChatSession.Kind.SUB_SESSION:
            await persist(admission.refuse_if_used_up, self.turn)
        asked = await rounds.ask_model()
        self._start.end()
        return asked

    async def _before_first_request(self) -> None:
        """Ask the hooks, and wait for the facts of models. What changes meanwhile is read again."""
        if extensions.hooks_at(BeforeAgentStart):
            self.rounds.is_first = False
            self.rounds.model = await self.rounds.while_waiting(in_tool_thread(hooks.before_agent_start, self.turn))
        if descriptions.is_awaited():
            await self.rounds.while_waiting(descriptions.first_answer())
            self.rounds.is_first = False
        self._has_begun = True

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
        sent = self.turn.session.context if self.rounds.has_asked else {}
        rounds = self.rounds
        return answer_lines.line_meta(
            self.turn.session, self.turn.prompt, sent, rounds.calls, rounds.text, rounds.cited
        )

    async def _notify_receivers(self) -> None:
        """Send turn_finished, and notify the hooks, behind the starts of other turns."""
        await starts.give_way()
        if turn_finished.has_listeners(ChatSession):
            await in_receiver_thread(hooks.send_turn_finished, self.turn)
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
