"""Ask a model for a beat: a few short rounds in a conversation of the beat's own, whose rows are those of every turn.

It runs in a worker, without a person at the page and without a stream to show, so it needs neither the slots nor the
publisher of other turns (chat/turns/running.py). The loop is the same: chat/turns/rounds.py.
"""

import uuid
from collections.abc import AsyncGenerator, Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import ParamSpec, TypeVar

from asgiref.sync import async_to_sync, sync_to_async
from django.db import transaction
from django.db.models import F

from chat.conversations import transcript
from chat.conversations.keys import beat_key
from chat.conversations.payers import payer_of_answers
from chat.extensions import ToolError, ToolResult
from chat.models import Agent, Beat, ChatSession, Head, Message, Schedule, Turn, default_agent
from chat.rendering.cards import Card
from chat.rendering.citations import REFERENCE_AND_SPACE
from chat.schedules import head as heads
from chat.schedules.head import BeatContext
from chat.schedules.quiet import Answer, answer_of_call, answer_of_text
from chat.schedules.respond import RESPOND, RESPOND_NAME
from chat.turns.answer import end_columns, failure_after
from chat.turns.checkpoints import kept
from chat.turns.listener import RoundsListener
from chat.turns.rounds import Limits, Rounds
from chat.turns.tools import WaitingCall, call_tool, failed, validate
from oneclaw import llm
from oneclaw.models import User, clock
from oneclaw.spend.calls import Spending
from oneclaw.spend.usage import counts_of

P = ParamSpec("P")
R = TypeVar("R")
# The answers of one beat that may call tools, the tokens of each answer, and the seconds of all of them.
TOOL_ROUNDS = 2
ANSWER_MAX_TOKENS = 1_024
BEAT_MAX_SECONDS = 200
ANSWER_NOW: llm.Block = {
    "type": "text",
    "text": f"You have called tools as often as this turn may. Call {RESPOND_NAME} now.",
}
LIMITS = Limits(
    TOOL_ROUNDS,
    BEAT_MAX_SECONDS,
    ANSWER_NOW,
    last_tools=frozenset({RESPOND_NAME}),
    max_tokens=ANSWER_MAX_TOKENS,
    thinks=False,
)
NOT_OFFERED = "This tool is not available here. Nobody can grant it now."


@dataclass(frozen=True)
class Asked:
    """What a model answered; `is_over` is false when it had not answered in the last round."""

    answer: Answer
    is_over: bool = True


def hidden_session(schedule: Schedule) -> ChatSession:
    """Return a new conversation for one beat of `schedule`, which is not stored.

    It writes memory only where the schedule grants a tool.
    """
    owner: User = schedule.owner
    agent = Agent.objects.visible_to(owner).filter(pk=schedule.agent_id or 0).first() or default_agent()
    session_id = uuid.uuid4()
    return ChatSession(
        pk=session_id,
        kind=ChatSession.Kind.BEAT,
        key=beat_key(agent.slug, owner.pk, session_id),
        owner=owner,
        agent=agent,
        mode=ChatSession.Mode.AGENT if schedule.tools else ChatSession.Mode.CHAT,
        created_at=clock.read_database_time(),
    )


def ask(beat: Beat, session: ChatSession, context: BeatContext) -> Asked:
    """Ask the model of the hidden `session` until it responds. Raise ModelRequestError, and ClaimLostError or
    LeaseLostError when another worker has taken over."""
    turn, answer, head = _begin(beat, session, context)
    conduct = _BeatConduct(beat, turn, frozenset(tool["name"] for tool in head.tools or ()))
    rounds = Rounds(turn, answer, conduct, Spending(payer_of_answers(turn)))
    try:
        finished = async_to_sync(_run)(rounds)
        _end(turn, rounds, finished, has_responded=conduct.responded is not None)
    except llm.ModelRequestError as failure:
        message, reason = rounds.answer.message, failure.reason
        with rounds.spending.storing() as spends:
            transcript.finish_turn(turn, message, [], Turn.Status.FAILED, spends, code=failure.code, error=reason)
        raise
    finally:
        # Not stored with its turn when that was lost to another worker.
        rounds.spending.store_rest()
    content = rounds.answer.content
    if conduct.responded is not None:
        return Asked(conduct.responded)
    calls_tools = any(block["type"] == "tool_use" for block in content)
    return Asked(answer_of_text(_text_of(content)), is_over=not calls_tools)


def _end(turn: Turn, rounds: Rounds, finished: llm.Finished, *, has_responded: bool) -> None:
    """Store the end of `turn`. Raise ModelRequestError when its last answer is none."""
    if failure := failure_after(finished, is_empty=False):
        raise failure
    ended = {} if has_responded else end_columns(finished)
    with rounds.spending.storing() as spends:
        answer = rounds.answer
        transcript.finish_turn(turn, answer.message, answer.content, Turn.Status.COMPLETE, spends, **ended)


async def _run(rounds: Rounds) -> llm.Finished:
    try:
        async with kept(rounds.turn, rounds.spending):
            return await rounds.run()
    except TimeoutError:
        raise llm.TurnTimeoutError from None


@transaction.atomic
def _begin(beat: Beat, session: ChatSession, context: BeatContext) -> tuple[Turn, Message, Head]:
    """Store the hidden conversation of `beat` with its head, its message by the schedule, and a running turn."""
    session.save(force_insert=True)
    head = heads.make_head(beat.schedule, session, context)
    text = heads.message_text(beat, session, head)
    content = [{"type": "text", "text": text}]
    prompt = transcript.append(session, Message.Role.USER, content=content, text=text, meta={"by": "schedule"})
    turn, answer = transcript.begin_turn(session, prompt, Turn.Kind.SEND, None)
    beat.renew(turn=turn, asked_at=session.created_at)
    beat.turn, beat.asked_at = turn, session.created_at
    return turn, answer, head


class _BeatConduct:
    """A beat that a worker runs: its rows are written, and its calls run, in the thread that carries it out."""

    limits = LIMITS
    listener = RoundsListener()

    def __init__(self, beat: Beat, turn: Turn, allowed: frozenset[str]) -> None:
        self._beat, self._turn, self._allowed = beat, turn, allowed
        # The answer that a call gave, after which no call is run.
        self.responded: Answer | None = None

    async def write(self, function: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
        """Return the result of `function`; the claim of a worker that cannot store it goes to another one."""
        return await sync_to_async(function)(*args, **kwargs)

    async def call(self, answer: Message, use: llm.Block, broken: str) -> tuple[llm.Block, Card]:
        """Run a tool call that is allowed here."""
        return await sync_to_async(self._call)(answer, use, broken)

    async def finish_call(self, call: WaitingCall, result: ToolResult) -> tuple[llm.Block, Card]:
        """Return the block and the card of a call that was waited for; here is none."""
        return await sync_to_async(call.finished)(result)

    @contextmanager
    def endable(self) -> Iterator[None]:
        """Do nothing: a beat is not stopped."""
        yield

    async def begin_answer(self) -> None:
        """Do nothing: workers limit how many beats run."""

    async def events(self, rounds: Rounds) -> AsyncGenerator[llm.Event]:
        """Return the events of the model's next answer."""
        return await rounds.ask_model()

    async def answered(self, finished: llm.Finished) -> None:
        """Add the tokens of a request to the beat."""
        await sync_to_async(self._count)(finished)

    def waits_long(self) -> None:
        """Do nothing: no call is waited for."""

    def goes_on(self) -> bool:
        """Return whether the model has not responded."""
        return self.responded is None

    def _count(self, finished: llm.Finished) -> None:
        counts = counts_of(finished.usage)
        self._beat.usage = [*self._beat.usage, [finished.model, counts]]
        self._beat.renew(tokens=F("tokens") + sum(counts.values()), usage=self._beat.usage)

    def _call(self, answer: Message, use: llm.Block, broken: str) -> tuple[llm.Block, Card]:
        refusal = ""
        if use["name"] not in self._allowed or self.responded is not None:
            refusal = NOT_OFFERED
        elif use["name"] == RESPOND_NAME:
            refusal = broken or _fault_of(use)
            self.responded = None if refusal else answer_of_call(use["input"])
        else:
            if use["name"] in self._beat.schedule.tools:
                self._beat.renew(has_written=True)
            called = call_tool(self._turn, answer, use, broken)
            if isinstance(called, WaitingCall):
                # Nobody waits here for a call that takes long, and it was not begun.
                return called.finished(failed(ToolError("not_available", "Not available in a scheduled turn.")))
            return called
        card: Card = {"state": "failed" if refusal else "done", "summary": refusal, "lines": []}
        return _result(use, refusal or "Taken.", is_error=bool(refusal)), card


def _fault_of(use: llm.Block) -> str:
    """Return what is wrong with the arguments of a call of heartbeat_respond; "" when nothing is."""
    try:
        validate(RESPOND, use["input"])
    except ToolError as error:
        return error.message
    return ""


def _result(use: llm.Block, text: str, *, is_error: bool) -> llm.Block:
    block: llm.Block = {"type": "tool_result", "tool_use_id": use["id"], "content": text}
    return block | {"is_error": True} if is_error else block


def _text_of(content: Sequence[llm.Block]) -> str:
    # What it tells stands in a message of its own, whose sources are not there.
    return REFERENCE_AND_SPACE.sub("", "\n\n".join(block["text"] for block in content if block["type"] == "text"))
