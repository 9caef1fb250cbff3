"""Carry out a beat: decide whether a model is asked, ask it, and tell the person or stay quiet.

    run(beat_id)        # any worker, any number of times

    queued ─ claim ─▶ running ─ nothing to ask ─▶ skipped
                         │ a turn of the person runs: queued again, in 2 minutes, 3 times
                         ▼ the model is asked
                      answer stored ─ quiet ─▶ quiet
                         │ tells ─ message and end of the beat in one transaction ─▶ sent
                         ▼ the model failed: queued again, in 30 minutes, then 2 hours; 5 times: the schedule is off

A worker that dies loses its claim, and another one goes on from the row: it asks again unless the answer was stored or
a writing tool had begun, and it tells what was stored.
"""

import datetime as dt
import logging

from django.conf import settings
from django.db import transaction
from django.db.models import Count, Sum
from django.utils import translation
from django.utils.translation import gettext as _

from chat import extensions
from chat.conversations import transcript
from chat.conversations.transcript import LeaseLostError
from chat.models import Beat, ChatSession, Schedule, Turn
from chat.schedules import due, news, quiet, tell
from chat.schedules.ask import ask, hidden_session
from chat.schedules.head import context_of
from chat.schedules.planning import heartbeat_times
from oneclaw import llm
from oneclaw.jobs import ClaimLostError
from oneclaw.models import User, clock
from oneclaw.reasons import Reason

logger = logging.getLogger(__name__)

# While a turn of the person runs: seconds until the beat asks again, and how often.
BUSY_SECONDS, BUSY_MAX_WAITS = 120, 3
# Seconds from one failure of the model to the next try, and the failures after which the schedule is switched off.
BACKOFF_SECONDS = (1_800, 7_200)
MAX_FAILURES = 5
# Claims of one beat whose workers died, after which it is given up.
MAX_CLAIMS = 3


def run(beat_id: int) -> None:
    """Carry out the beat, if it is due and no other worker has claimed it."""
    beat: Beat | None = Beat.objects.claim(beat_id)
    if beat is None:
        return
    with beat.attempt(), translation.override(beat.schedule.owner.language or None):
        try:
            _carry_out(beat)
        except LeaseLostError as lost:
            raise ClaimLostError from lost


def _carry_out(beat: Beat) -> None:
    if beat.text:
        tell.deliver(beat)
        return
    if beat.attempts > 1 and (beat.has_written or beat.attempts > MAX_CLAIMS):
        beat.finish(Beat.Status.FAILED, "interrupted", outcome=Beat.Outcome.FAILED, reason=Reason("beat.interrupted"))
        return
    schedule = beat.schedule
    session = hidden_session(schedule)
    context = context_of(schedule, session)
    fingerprint = news.fingerprint_of(schedule.owner, session, context.checklist, context.items)
    if reason := why_not(beat, context.checklist, fingerprint, session.created_at):
        beat.finish(Beat.Status.NOTHING, outcome=Beat.Outcome.SKIPPED, reason=reason)
        return
    if not beat.by_hand and has_running_turn(schedule.owner):
        if beat.waits < BUSY_MAX_WAITS:
            beat.renew(waits=beat.waits + 1)
            beat.release(BUSY_SECONDS)
            return
        if schedule.is_heartbeat:
            beat.finish(Beat.Status.NOTHING, outcome=Beat.Outcome.SKIPPED, reason=Reason("beat.busy"))
            return
    try:
        llm.refuse_if_used_up(schedule.owner_id)
        with beat.renewals():
            asked = ask(beat, session, context)
    except llm.BudgetUsedUpError as refusal:
        if schedule.is_heartbeat:
            beat.finish(Beat.Status.NOTHING, outcome=Beat.Outcome.SKIPPED, reason=refusal.reason)
        else:
            beat.release(refusal.wait_seconds)
        return
    except llm.ModelRequestError as failure:
        logger.info("Beat %s: %s", beat.pk, failure)
        _fail(beat, failure)
        return
    answer = asked.answer
    # Its owner may have had something forgotten while the model was asked.
    note = extensions.memory().cleaner(session)(answer.note)
    if answer.is_quiet:
        code = "beat.quiet" if asked.is_over else "beat.no_answer"
        _finish_quiet(beat, note, Reason(code), fingerprint if schedule.is_heartbeat else "")
        return
    with transaction.atomic():
        beat.renew(text=answer.text, note=note)
        Schedule.objects.filter(pk=schedule.pk).update(failures=0)
    beat.text = answer.text
    tell.deliver(beat)


def why_not(beat: Beat, checklist: str, fingerprint: str, now: dt.datetime) -> Reason | None:
    """Return why no model is asked for `beat` at `now`; None when one is."""
    schedule = beat.schedule
    is_off = not (schedule.enabled or beat.by_hand) or not schedule.owner.is_active
    if settings.HEARTBEAT.mode == "disabled" or is_off:
        return Reason("beat.off")
    if schedule.is_heartbeat:
        if not checklist:
            return Reason("beat.no_checklist")
        if not quiet.has_tasks(checklist):
            return Reason("beat.empty_checklist")
        if not beat.by_hand and not due.is_within(heartbeat_times(schedule), now, schedule.owner.zone):
            return Reason("beat.hours")
        if not beat.by_hand and fingerprint == schedule.quiet_hash:
            return Reason("beat.unchanged")
    asked, tokens = used_on_day(schedule.owner, now, but=beat)
    code = quiet.is_used_up(asked, tokens, settings.HEARTBEAT.day_max_tokens)
    most = {"beat.beats_used": quiet.DAY_MAX_BEATS, "beat.tokens_used": settings.HEARTBEAT.day_max_tokens}
    return Reason(code, {"most": most[code]}) if code else None


def used_on_day(user: User, now: dt.datetime, but: Beat | None = None) -> tuple[int, int]:
    """Return for how many beats of `user` but this one a model was asked on the local day of `now`, and the tokens."""
    asked = Beat.objects.asked_since(user, due.day_began(now, user.zone)).exclude(pk=but.pk if but else 0)
    used = asked.aggregate(count=Count("pk"), tokens=Sum("tokens"))
    return used["count"], used["tokens"] or 0


def has_running_turn(user: User) -> bool:
    """Return whether a turn of a conversation of `user` runs, apart from those of beats."""
    turns = Turn.objects.running().filter(session__owner=user, lease_until__gte=clock.database_now())
    return turns.exclude(session__kind=ChatSession.Kind.BEAT).exists()


@transaction.atomic
def _finish_quiet(beat: Beat, note: str, reason: Reason, fingerprint: str) -> None:
    """Store that the model had nothing to tell, and what it was asked about."""
    beat.finish(Beat.Status.DONE, outcome=Beat.Outcome.QUIET, reason=reason, note=note)
    Schedule.objects.filter(pk=beat.schedule_id).update(failures=0, quiet_hash=fingerprint)


@transaction.atomic
def _fail(beat: Beat, failure: llm.ModelRequestError) -> None:
    """Count a failure of the model: queue the beat again, or switch the schedule off and tell its owner so."""
    schedule = Schedule.objects.select_for_update(no_key=True).get(pk=beat.schedule_id)
    schedule.failures += 1
    if schedule.failures < MAX_FAILURES:
        schedule.save(update_fields=["failures"])
        seconds = BACKOFF_SECONDS[min(schedule.failures, len(BACKOFF_SECONDS)) - 1]
        beat.renew(reason=failure.reason)
        beat.release(seconds)
        return
    session = tell.conversation_of(schedule)
    try:
        transcript.refuse_if_busy(session)
    except transcript.SessionBusyError:
        # Its message would be stored between an answer and its tool results: the last try is made again.
        beat.release(tell.BUSY_SECONDS)
        return
    schedule.enabled, schedule.next_at, schedule.stopped_at = False, None, clock.read_database_time()
    schedule.save(update_fields=["failures", "enabled", "next_at", "stopped_at"])
    beat.finish(Beat.Status.FAILED, failure.code, outcome=Beat.Outcome.FAILED, reason=failure.reason)
    tell.say(session, _stopped_text(schedule, failure))


def _stopped_text(schedule: Schedule, failure: llm.ModelRequestError) -> str:
    """Return the message that the schedule was switched off, in the active language."""
    params = {"text": schedule.text[:80], "count": MAX_FAILURES, "reason": failure.sentence}
    if schedule.is_heartbeat:
        return (
            _(
                "The heartbeat was switched off, because the model failed %(count)s times in a row: %(reason)s "
                "You can switch it on again on the page “Schedules”."
            )
            % params
        )
    return (
        _(
            "The task “%(text)s” was switched off, because the model failed %(count)s times in a row: %(reason)s "
            "You can switch it on again on the page “Schedules”."
        )
        % params
    )
