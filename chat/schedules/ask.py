"""Ask a model for a beat: a few short rounds in a conversation of the beat's own, whose rows are those of every turn.

It runs in a worker, without a person at the page and without a stream to show, so it needs neither the slots nor the
publisher of chat/turns/loop.py. The rows are written by the same functions: each answer before its tools run.
"""

import asyncio
import time
import uuid
from collections.abc import Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace

from django.db import transaction
from django.db.models import F

from chat.context.results import sent_results, shares_of
from chat.context.view import sendable_blocks
from chat.conversations import model_choice, transcript
from chat.conversations.keys import beat_key
from chat.conversations.payers import payer_of_answers
from chat.extensions import ToolError
from chat.models import Agent, Beat, ChatSession, Head, Message, Schedule, Turn, default_agent
from chat.rendering.cards import Card
from chat.rendering.citations import REFERENCE_AND_SPACE
from chat.schedules import head as heads
from chat.schedules.head import BeatContext
from chat.schedules.quiet import Answer, answer_of_call, answer_of_text
from chat.schedules.respond import RESPOND, RESPOND_NAME
from chat.turns.answer import end_columns, failure_after
from chat.turns.checkpoints import kept
from chat.turns.tools import WaitingCall, call_tool, failed, validate
from oneclaw import llm
from oneclaw.models import User, clock
from oneclaw.spend.calls import Spending
from oneclaw.spend.usage import counts_of

# Requests of one beat, the tokens of each answer, and the seconds of all of them.
MAX_ROUNDS = 3
ANSWER_MAX_TOKENS = 1_024
BEAT_MAX_SECONDS = 200
ANSWER_NOW: llm.Block = {
    "type": "text",
    "text": f"You have called tools as often as this turn may. Call {RESPOND_NAME} now.",
}
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
    allowed = frozenset(tool["name"] for tool in head.tools or ())
    request = llm.Request(
        model=model_choice.model_of(session),
        system=[{"type": "text", "text": head.system}],
        messages=[{"role": "user", "content": list(turn.prompt.content)}],
        tools=head.tools or (),
        max_tokens=ANSWER_MAX_TOKENS,
        thinks=False,
        holds_memory=context.holds_memory,
    )
    deadline = time.monotonic() + BEAT_MAX_SECONDS
    try:
        for number in range(1, MAX_ROUNDS + 1):
            content, broken, finished = _answer_of(turn, request, deadline)
            _count(beat, finished)
            if failure := failure_after(finished, is_empty=False):
                raise failure
            uses = [block for block in content if block["type"] == "tool_use"]
            if not uses or (number == MAX_ROUNDS and not any(use["name"] == RESPOND_NAME for use in uses)):
                transcript.finish_turn(turn, answer, content, Turn.Status.COMPLETE, **end_columns(finished))
                return Asked(answer_of_text(_text_of(content)), is_over=not uses)
            is_last = number + 1 == MAX_ROUNDS
            answer, sent, responded = _use_tools(beat, turn, answer, content, broken, finished, allowed, is_last)
            if responded is not None:
                transcript.finish_turn(turn, answer, [], Turn.Status.COMPLETE)
                return Asked(responded)
            request = replace(
                request,
                messages=[
                    *request.messages,
                    {"role": "assistant", "content": list(sendable_blocks(content, is_of_answer=True))},
                    {"role": "user", "content": sent},
                ],
            )
    except llm.ModelRequestError as failure:
        transcript.finish_turn(turn, answer, [], Turn.Status.FAILED, code=failure.code, error=failure.reason)
        raise
    raise AssertionError("The last round returns or raises.")


@transaction.atomic
def _begin(beat: Beat, session: ChatSession, context: BeatContext) -> tuple[Turn, Message, Head]:
    """Store the hidden conversation of `beat` with its head, its message by the schedule, and a running turn."""
    session.save(force_insert=True)
    head = heads.make_head(beat.schedule, session, context)
    text = heads.message_text(beat, session, head)
    content = [{"type": "text", "text": text}]
    prompt = transcript.append(session, Message.Role.USER, content=content, text=text, meta={"by": "schedule"})
    turn, answer = transcript.begin_turn(session, prompt, Turn.Kind.SEND, None)
    beat.heartbeat(turn=turn, asked_at=session.created_at)
    beat.turn, beat.asked_at = turn, session.created_at
    return turn, answer, head


def _answer_of(
    turn: Turn, request: llm.Request, deadline: float
) -> tuple[list[llm.Block], dict[str, str], llm.Finished]:
    """Return what `_read` does, and store what it has cost."""
    spending = Spending(payer_of_answers(turn))
    try:
        return asyncio.run(_read(turn, request, deadline, spending))
    finally:
        spending.store_rest()


async def _read(
    turn: Turn, request: llm.Request, deadline: float, spending: Spending
) -> tuple[list[llm.Block], dict[str, str], llm.Finished]:
    """Return the blocks of one answer, the faults in tool arguments by tool_use id, and how it finished."""
    content: list[llm.Block] = []
    broken: dict[str, str] = {}
    try:
        left = max(1.0, deadline - time.monotonic())
        stream = llm.stream(request, spending)
        async with asyncio.timeout(left), kept(turn, spending), aclosing(stream) as events:
            async for event in events:
                if isinstance(event, llm.BlockFinished):
                    content.append(event.block)
                    if event.error:
                        broken[event.block["id"]] = event.error
                elif isinstance(event, llm.Finished):
                    return content, broken, event
    except TimeoutError:
        raise llm.TurnTimeoutError from None
    raise llm.CutOffError("the stream ended without an end")


def _count(beat: Beat, finished: llm.Finished) -> None:
    """Add the tokens of a request to `beat`."""
    counts = counts_of(finished.usage)
    beat.usage = [*beat.usage, [finished.model, counts]]
    beat.heartbeat(tokens=F("tokens") + sum(counts.values()), usage=beat.usage)


def _use_tools(
    beat: Beat,
    turn: Turn,
    answer: Message,
    content: list[llm.Block],
    broken: dict[str, str],
    finished: llm.Finished,
    allowed: frozenset[str],
    is_last: bool,
) -> tuple[Message, list[llm.Block], Answer | None]:
    """Run the calls of one answer, and store their results; return the next answer's row, what the model is sent, and
    the answer if one of the calls gave it, after which no call is run."""
    results = transcript.finish_round(turn, answer, content, **end_columns(finished))
    uses = [block for block in content if block["type"] == "tool_use"]
    blocks: list[llm.Block] = []
    cards: dict[str, Card] = {}
    responded: Answer | None = None
    for use in uses:
        refusal = ""
        if use["name"] not in allowed or responded is not None:
            refusal = NOT_OFFERED
        elif use["name"] == RESPOND_NAME:
            refusal = broken.get(use["id"], "") or _fault_of(use)
            responded = None if refusal else answer_of_call(use["input"])
        else:
            if use["name"] in beat.schedule.tools:
                beat.heartbeat(has_written=True)
            called = call_tool(turn, answer, use, broken.get(use["id"], ""))
            if isinstance(called, WaitingCall):
                # Nobody waits here for a call that takes long, and it was not begun.
                called = called.finished(failed(ToolError("not_available", "Not available in a scheduled turn.")))
            block, card = called
            blocks.append(block)
            cards[use["id"]] = card
            continue
        blocks.append(_result(use, refusal or "Taken.", is_error=bool(refusal)))
        cards[use["id"]] = {"state": "failed" if refusal else "done", "summary": refusal, "lines": []}
    blocks += [ANSWER_NOW] if is_last and responded is None else []
    shares = shares_of(blocks, uses, allowed)
    following = transcript.finish_tools(turn, answer, results, blocks, cards)
    return following, list(sent_results(blocks, {"shares": shares})), responded


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
