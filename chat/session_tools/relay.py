"""Deliver messages that one conversation sends to another: at once, or when the answer that runs there has ended.

The row is stored before. The process that stored it delivers it and runs the answer. When that process has died, a
sweep offers the row to all web processes, and the first one delivers it. One that is overdue, because the conversation
was busy for too long or no web process has run meanwhile, is given up by the sweep.
"""

import asyncio
import datetime as dt
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from django.db import transaction

from chat.conversations import lifecycle, transcript
from chat.conversations.message_pages import notify_updated
from chat.conversations.shown import just_stored
from chat.extensions import ToolCall, ToolError
from chat.live.publisher import TurnPublisher
from chat.models import ChatSession, Message, RelayedMessage, Turn
from chat.session_tools.limits import (
    HOPS_MAX_COUNT,
    RELAYED_DEADLINE_SECONDS,
    RELAYED_MAX_COUNT,
    RELAYED_WINDOW_SECONDS,
)
from chat.session_tools.wording import relayed_text
from chat.turns import running
from chat.turns.persist import persist
from oneclaw import llm, pubsub
from oneclaw.locks import hold
from oneclaw.models import clock
from oneclaw.reasons import Reason
from oneclaw.threads import in_database

# How often a busy conversation is looked at also without a hint, because a hint may be lost.
POLL_SECONDS = 1.0
# Messages that one sweep offers.
OFFERED_MAX_COUNT = 100

# The topic of hints that a message is left: the process that stored it has died.
LEFT_TOPIC = "relayed"

# Referenced here, because the event loop only has weak references to tasks.
_delivering: set["asyncio.Task[RelayedMessage | None]"] = set()


@dataclass(frozen=True)
class Delivery:
    """A relayed message, and the turn that answers it, if this call delivered it."""

    relayed: RelayedMessage
    message: Message | None = None
    turn: Turn | None = None
    answer: Message | None = None
    # The title of the conversation that wrote it.
    origin_title: str = ""


@transaction.atomic
def accept(call: ToolCall, target: ChatSession, text: str) -> RelayedMessage:
    """Store the message that `call` sends to `target`. A repeated call finds it. Raise ToolError at a limit."""
    sent_in = Message.objects.select_related("turn__prompt").get(pk=call.message_id or 0)
    assert sent_in.turn is not None, "A call is of an answer, and that of a turn."
    hold(f"relayed messages of person {call.user.pk}")
    own = RelayedMessage.objects.filter(owner=call.user)
    known = own.filter(turn=sent_in.turn, tool_use_id=call.id).first()
    if known is not None:
        return known
    try:
        llm.refuse_if_used_up(call.user.pk)
    except llm.BudgetUsedUpError as failure:
        message = "A budget of the person is used up, so nothing is sent that would be answered. Answer here."
        raise ToolError("limit_reached", message, failure.reason) from None
    hops = int(sent_in.turn.prompt.meta.get("hops", 0)) + 1
    if hops > HOPS_MAX_COUNT:
        message = f"This message has passed {HOPS_MAX_COUNT} conversations: it goes no further. Answer here."
        raise ToolError("limit_reached", message, Reason("sessions.too_many_hops"))
    since = clock.database_now() - dt.timedelta(seconds=RELAYED_WINDOW_SECONDS)
    if own.filter(created_at__gt=since).count() >= RELAYED_MAX_COUNT:
        message = f"{RELAYED_MAX_COUNT} messages were sent within a minute. Wait, or answer here."
        raise ToolError("limit_reached", message, Reason("sessions.too_many_messages"))
    return RelayedMessage.objects.create(
        owner=call.user,
        turn=sent_in.turn,
        answer=sent_in,
        tool_use_id=call.id,
        target=target,
        text=text,
        hops=hops,
        deadline=clock.database_now() + dt.timedelta(seconds=RELAYED_DEADLINE_SECONDS),
    )


def begin(relayed: RelayedMessage) -> "asyncio.Task[RelayedMessage]":
    """Deliver the message by a task of this process, which ends when it is delivered or given up."""
    task = asyncio.create_task(_deliver_when_free(relayed))
    _delivering.add(task)
    task.add_done_callback(_delivering.discard)
    return task


def offer_left() -> None:
    """Offer the messages to the web processes that the processes which stored them have left. Sync."""
    left = RelayedMessage.objects.left().values_list("pk", flat=True)
    if offered := [(LEFT_TOPIC, {"id": relayed_id}) for relayed_id in left[:OFFERED_MAX_COUNT]]:
        pubsub.notify_all(offered)


def deliver_left() -> Callable[[], None]:
    """Deliver by this process, from now on, what `offer_left` offers; return a function that ends this."""

    def offered(payload: dict[str, Any]) -> None:
        # Else hints may have been missed; the next sweep sends them again.
        if "id" in payload:
            task = asyncio.create_task(_deliver_if_left(payload["id"]))
            _delivering.add(task)
            task.add_done_callback(_delivering.discard)

    return pubsub.subscribe(LEFT_TOPIC, offered)


async def _deliver_if_left(relayed_id: int) -> RelayedMessage | None:
    try:
        delivery = await persist(deliver, relayed_id, uuid.uuid4())
    except RelayedMessage.DoesNotExist:
        return None
    _run(delivery)
    return delivery.relayed


def _run(delivery: Delivery) -> None:
    """Run the answer of the message in this process, if it was delivered here."""
    if delivery.turn is not None and delivery.answer is not None and delivery.message is not None:
        prompt = just_stored(delivery.message, origin_title=delivery.origin_title)
        running.start(delivery.turn, delivery.answer, TurnPublisher, prompt)


async def _deliver_when_free(relayed: RelayedMessage) -> RelayedMessage:
    changed, holder = asyncio.Event(), uuid.uuid4()
    unsubscribe = pubsub.subscribe(f"session:{relayed.target_id}", lambda _: changed.set())
    try:
        while True:
            changed.clear()
            delivery = await persist(deliver, relayed.pk, holder)
            _run(delivery)
            if delivery.relayed.state != RelayedMessage.State.QUEUED:
                return delivery.relayed
            await _changed(changed)
    finally:
        unsubscribe()


async def _changed(changed: asyncio.Event) -> None:
    try:
        async with asyncio.timeout(POLL_SECONDS):
            await changed.wait()
    except TimeoutError:
        return


@transaction.atomic
def deliver(relayed_id: int, holder: uuid.UUID) -> Delivery:
    """Append the message to its conversation and begin the answer, unless one is running there. Idempotent: the same
    `holder` gets its own turn again."""
    relayed = RelayedMessage.objects.select_related("owner", "turn", "answer").get(pk=relayed_id)
    try:
        session = lifecycle.lock(relayed.owner, relayed.target_id)
    except lifecycle.SessionNotFoundError:
        return Delivery(_give_up(relayed))
    # Read under the lock: another process may have delivered it.
    relayed.refresh_from_db()
    if relayed.state != RelayedMessage.State.QUEUED:
        mine = transcript.running_turn_of(session, holder)
        return Delivery(relayed, relayed.message, *(mine or (None, None)))
    if session.is_shared:
        # It was private when the message was written, perhaps with what only its owner may know.
        return Delivery(_give_up(relayed))
    try:
        transcript.refuse_if_busy(session)
    except transcript.SessionBusyError:
        is_late = relayed.deadline < clock.read_database_time()
        return Delivery(_give_up(relayed) if is_late else relayed)
    origin = ChatSession.objects.get(pk=relayed.turn.session_id)
    text = relayed_text(str(relayed.owner), origin.get_absolute_url(), relayed.text)
    message = transcript.append(
        session,
        Message.Role.USER,
        content=[{"type": "text", "text": text}],
        text=relayed.text,
        meta={"by": "session", "origin": str(origin.pk), "hops": relayed.hops},
    )
    turn, answer = transcript.begin_turn(session, message, Turn.Kind.SEND, holder)
    relayed.message, relayed.text, relayed.state = message, "", RelayedMessage.State.DELIVERED
    relayed.save(update_fields=["message", "text", "state"])
    pubsub.notify(f"user:{relayed.owner_id}", {"kind": "sessions"})
    notify_updated(relayed.answer)
    return Delivery(relayed, message, turn, answer, origin.name)


def _give_up(relayed: RelayedMessage) -> RelayedMessage:
    relayed.text, relayed.state = "", RelayedMessage.State.FAILED
    relayed.save(update_fields=["text", "state"])
    notify_updated(relayed.answer)
    return relayed


@transaction.atomic
def give_up_overdue() -> None:
    """Give up the messages that were not delivered until their deadlines. Sync."""
    overdue = (
        RelayedMessage.objects.overdue().select_related("answer").select_for_update(skip_locked=True, of=("self",))
    )
    for relayed in overdue[:OFFERED_MAX_COUNT]:
        _give_up(relayed)


def find(relayed_id: int) -> RelayedMessage:
    """Return the relayed message with its message and conversation. Sync."""
    return RelayedMessage.objects.select_related("message", "target", "owner").get(pk=relayed_id)


async def delivered(relayed: RelayedMessage, task: "asyncio.Task[RelayedMessage]", seconds: float) -> RelayedMessage:
    """Return the message once it is delivered or given up, or as it is after `seconds`; the task goes on."""
    await asyncio.wait({task}, timeout=seconds)
    return await in_database(find, relayed.pk)
