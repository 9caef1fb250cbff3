"""Begin to use a round, at the start of a turn: when it costs least, or when the conversation does not fit without."""

import asyncio
import datetime as dt
import enum
from collections.abc import Callable

from django.conf import settings
from django.db import transaction
from django.utils import timezone

from chat.compaction import hints, make, notes, planning
from chat.compaction.prune import may_prune, prune
from chat.context import cache_marks
from chat.context.heads import withhold_thinking
from chat.context.meter import estimated_meter, meter_after, meter_of
from chat.context.prompt import TurnContext, build_request, first_context, read_context
from chat.context.rounds import rounds_in_view, rounds_of_last_request
from chat.context.view import CACHE_KEY, META_KEY
from chat.extensions.run_hooks import after_compaction
from chat.models import ChatSession, ContextRound, Message, Turn
from oneclaw.llm import Request
from oneclaw.models import clock
from oneclaw.threads import in_database, in_model_thread

# How long a person waits for a summary, after which an extract takes its place.
WAIT_MAX_SECONDS = 60.0
POLL_SECONDS = 0.25
# The lifetime of the provider's cache, by its setting.
CACHE_SECONDS = {cache_marks.OFF: 0, cache_marks.SHORT: cache_marks.SHORT_SECONDS, cache_marks.LONG: 3_600}


class Keep(enum.Enum):
    """What stays word for word when a conversation is too long for the model's server."""

    NEWEST_TURNS = enum.auto()
    LAST_TURN = enum.auto()


async def make_room(turn: Turn, round_id: int, announce: Callable[[], None]) -> None:
    """Make the round `round_id`, without which the conversation does not fit, and begin to use it in the first request
    of `turn`; `announce` is called before that wait."""
    announce()
    await finish_soon(round_id)
    await in_database(use_now, turn, round_id)


async def make_room_at_once(turn: Turn, keep: Keep, announce: Callable[[], None]) -> bool:
    """Use a round in the next request of `turn`, which is too long: one that is ready, or a new one, which `announce`
    announces.

    Return False when there is nothing more to take out.
    """
    needed = await in_database(plan_for_overflow, turn, keep)
    if needed is None:
        return False
    if await in_database(is_open, needed):
        announce()
        await finish_soon(needed)
    return await in_database(use_now, turn, needed)


async def finish_soon(round_id: int) -> None:
    """Return when the round is finished: by a worker that makes it already, by this process, or after WAIT_MAX_SECONDS
    as an extract."""
    try:
        async with asyncio.timeout(WAIT_MAX_SECONDS):
            making = asyncio.create_task(in_model_thread(make.run, round_id, is_urgent=True))
            while True:
                # A worker may finish it while this process has no thread for it.
                await asyncio.wait({making}, timeout=POLL_SECONDS)
                if not await in_database(is_open, round_id):
                    return
                if making.done():
                    making.result()
                    # The process that is making it may give it up.
                    await asyncio.sleep(POLL_SECONDS)
                    making = asyncio.create_task(in_model_thread(make.run, round_id, is_urgent=True))
    except TimeoutError:
        await in_database(make.extract_now, round_id)


def is_open(round_id: int) -> bool:
    """Return whether the round is still to be made."""
    return bool(ContextRound.objects.open().filter(pk=round_id).exists())


def begin_request(turn: Turn, *, is_first: bool = False) -> Request | int:
    """Return the first request of `turn`, which begins to use a ready round if it is time; or the id of the round that
    must be made first. `is_first`: this process has just stored its conversation, and nothing changed since. Sync."""
    known = first_context(turn) if is_first else read_context(turn)
    if not has_room(turn, known):
        needed = begin(turn)
        if needed is not None:
            return needed
        # It may have begun to use a round, and the message may have a note now.
        known = read_context(turn)
    return build_request(turn, known)


def has_room(turn: Turn, known: TurnContext) -> bool:
    """Return whether `begin` would do nothing, as in most conversations: nothing is locked to see that."""
    session = known.session
    if known.has_rounds or session.used_rounds:
        return False
    meter = meter_after(session, known.counted, known.rows)
    if meter is None:
        return turn.prompt.parent_id is None
    is_full = planning.fullness(session, meter) is not None or may_prune(session, meter)
    return not is_full and not notes.reached(meter.used_tokens, meter.window_tokens)


@transaction.atomic
def begin(turn: Turn) -> int | None:
    """Begin to use a ready round if it is time; return the id of the round that must be made first, or None."""
    sessions = ChatSession.objects.select_related("agent", "owner", "head").select_for_update(of=("self",), no_key=True)
    session = sessions.get(pk=turn.session_id)
    meter = meter_of(session)
    if meter is None:
        if turn.prompt.parent_id is None:
            return None
        meter = estimated_meter(session)
    waiting = planning.waiting_round(session)
    reason = planning.fullness(session, meter)
    if reason is not None and settings.COMPACTION and (waiting is None or not waiting.is_open):
        # What fails or is vetoed each time is tried again only when the model's server refuses the request.
        waiting = waiting if planning.keeps_failing(session) else planning.plan(session, reason)
    if waiting is not None and waiting.is_open:
        # Many short messages still fit, so the answer does not wait for their summary.
        if reason == ContextRound.Reason.THRESHOLD or waiting.reason == ContextRound.Reason.COMMAND:
            return waiting.pk
    elif waiting is not None and is_time_for(waiting, session, turn, is_full=reason is not None):
        mark_used(waiting, turn)
        return None
    if may_prune(session, meter) and is_cache_cold(session, turn):
        prune(session, meter, last_before(turn))
    if session.used_rounds and (text := missing_supplement(session)) and notes.is_new(turn):
        notes.store(turn, {"notes": [text]})
    elif notes.reached(meter.used_tokens, meter.window_tokens) and notes.is_new(turn):
        notes.store(turn, notes.fullness_note(session, meter, rounds_in_view(session)))
    return None


def missing_supplement(session: ChatSession) -> str:
    """Return what is kept word for word with the signed summary in view, if no shown message brings it, because the one
    that did is on another branch; "" otherwise."""
    compact = rounds_in_view(session).compact
    if compact is None or not compact.block or not compact.text:
        return ""
    after = session.messages.shown().filter(seq__gt=compact.through.seq)
    brings = {f"meta__{META_KEY}__notes__contains": [compact.text]}
    return "" if after.filter(**brings).exists() else compact.text


def is_time_for(ready: ContextRound, session: ChatSession, turn: Turn, *, is_full: bool) -> bool:
    """Return whether a ready round is used now: it is needed or asked for, or the provider's cache has expired, so that
    another prefix costs nothing."""
    if not ready.through.active:
        return False
    if is_full or ready.reason == ContextRound.Reason.COMMAND:
        return True
    return ready.maker != ContextRound.Maker.EXTRACT and is_cache_cold(session, turn)


def last_before(turn: Turn) -> Message:
    """Return the last shown message before the prompt of `turn`, or the prompt itself when it is the first one."""
    earlier = turn.session.messages.shown().finished().filter(seq__lt=turn.prompt.seq).last()
    return earlier or turn.prompt


def is_cache_cold(session: ChatSession, turn: Turn) -> bool:
    """Return whether the provider no longer has the last request of `session` in its cache: the lifetime counts with
    which that request was sent, whatever the next one asks for."""
    # Also earlier attempts at this answer, and the part of it that is continued.
    answers = session.messages.finished().filter(role=Message.Role.ASSISTANT).exclude(turn=turn)
    last = answers.order_by("seq").only("finished_at", "meta").last()
    if last is None or last.finished_at is None:
        return True
    # An answer of an earlier release does not say it.
    lifetime = last.meta.get(META_KEY, {}).get(CACHE_KEY, cache_marks.LONG)
    return clock.read_database_time() - last.finished_at > dt.timedelta(seconds=CACHE_SECONDS[lifetime])


@transaction.atomic
def plan_for_overflow(turn: Turn, keep: Keep) -> int | None:
    """Return the id of a round that must be made, because the model's server has refused the request; None when only
    the newest turn is left."""
    session = ChatSession.objects.select_related("agent", "owner", "head").get(pk=turn.session_id)
    planned = planning.plan(session, ContextRound.Reason.OVERFLOW, least=keep is Keep.LAST_TURN)
    return planned.pk if planned is not None and planned.used_at is None else None


@transaction.atomic
def use_now(turn: Turn, round_id: int) -> bool:
    """Begin to use the round `round_id`, if it is finished; return whether it is."""
    # Before the round, as everywhere: its owner may correct or undo it at this moment.
    session = ChatSession.objects.select_for_update(no_key=True).get(pk=turn.session_id)
    ready = ContextRound.objects.unused().select_related("through").filter(pk=round_id, through__active=True).first()
    if ready is None:
        return False
    mark_used(ready, turn)
    if turn.messages.count() > 1:
        # The answers of this turn were made with what stood before them.
        withhold_thinking(session, session.last_complete_seq())
        numbers = list(rounds_in_view(session).numbers)
        ChatSession.objects.filter(pk=session.pk).update(used_rounds=numbers)
    return True


def mark_used(ready: ContextRound, turn: Turn) -> None:
    """Record that requests are made with the round from now on.

    With a summary of the API, what is kept word for word comes with the next message of the person. Without a new
    message, the summary is sent as text.
    """
    if ready.block and notes.is_new(turn):
        notes.store(turn, {"notes": [ready.text]} if ready.text else {})
    elif ready.block:
        make.without_block(ready)
    first = turn.messages.order_by("seq").values_list("seq", flat=True).first() or 1
    ready.used_at, ready.used_after_seq = timezone.now(), first - 1
    ready.save(update_fields=["used_at", "used_after_seq"])
    hints.notify(ready.session)
    transaction.on_commit(lambda: after_compaction(ready.session, ready.through.seq, ready.reason))


@transaction.atomic
def drop_block(turn: Turn) -> None:
    """Send the summary in use as text, because the model's server does not take its own block any more."""
    session = ChatSession.objects.select_for_update(no_key=True).get(pk=turn.session_id)
    compact = rounds_of_last_request(session).compact
    if compact is not None and compact.block:
        make.without_block(compact)
    withhold_thinking(session, session.last_complete_seq())
