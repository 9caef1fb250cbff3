"""Plan a context round: after a turn that leaves little room, at a turn for which there is none, or on request."""

import logging
from itertools import pairwise
from typing import Any

from django.conf import settings
from django.db import transaction
from django.db.models import Max
from django.dispatch import receiver
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from chat.compaction import hints
from chat.compaction.budget import WindowBudget, budget_of
from chat.compaction.checks import Check
from chat.compaction.plan import Cut, TurnSize, plan_cut
from chat.context import tokens
from chat.context.meter import Meter, facts_for, message_parts, meter_of
from chat.context.prompt import rows_of
from chat.context.rounds import RoundsInView, rounds_in_view
from chat.context.view import ViewRow
from chat.models import ChatSession, ContextRound, Message
from chat.signals import turn_finished
from oneclaw.tasks import hint
from oneclaw.text import validated_text

logger = logging.getLogger(__name__)

Reason = ContextRound.Reason
AUTOMATIC = (Reason.THRESHOLD, Reason.MESSAGES, Reason.PAUSE)
# After so many failures one after another, or so many rounds within so few turns, no round begins by itself.
FAILURES_MAX_COUNT = 3
ROUNDS_MAX_COUNT, ROUNDS_MIN_TURNS = 3, 6
# The share of ONECLAW_COMPACTION_MESSAGES from which a summary is made in the background.
EARLY_MESSAGES_SHARE = 0.7
# What a person may write about what a summary is to keep.
FOCUS_MAX_CHARS = 1_000


class NothingToCompactError(Exception):
    """The conversation is too short for a summary of its older messages."""


@receiver(turn_finished)
def after_turn(session: ChatSession, **_: Any) -> None:
    """Plan a round if the conversation begins to fill its window, so that it is ready before it is needed."""
    if not settings.COMPACTION:
        return
    meter = meter_of(session)
    reason = fullness(session, meter, is_early=True)
    if reason is None or is_paused(session):
        return
    if not was_declined(session) or fullness(session, meter) is not None:
        plan(session, reason)


@transaction.atomic
def ask(session: ChatSession, focus: str = "") -> ContextRound:
    """Return the round that the person asks for, which the next turn uses; `focus` is what it is to keep especially.

    Raise NothingToCompactError, oneclaw.text.InvalidTextError.
    """
    focus = validated_text(focus, max_chars=FOCUS_MAX_CHARS, name=_("What to keep"), may_be_blank=True).strip()
    found = plan(session, Reason.COMMAND, focus)
    if found is None:
        raise NothingToCompactError
    return found


@transaction.atomic
def plan(session: ChatSession, reason: str, focus: str = "", *, least: bool = False) -> ContextRound | None:
    """Return the open or unused round of `session`, or a new one; None when a round would free too little.

    `least`: of the messages only the newest turn stays.
    """
    ChatSession.objects.select_for_update(no_key=True).get(pk=session.pk)
    budget = budget_for(session)
    waiting = waiting_round(session)
    if waiting is not None and not is_outdated(session, waiting, budget, focus, least=least):
        if reason == Reason.COMMAND and waiting.reason != reason:
            waiting.reason = reason
            waiting.save(update_fields=["reason"])
            hints.notify(session)
        return waiting
    view = rounds_in_view(session)
    rows = rows_of(session, view.through_seq)
    cut, fixed = cut_of(session, rows, view, budget, reason, least=least)
    if cut is None:
        return waiting
    if waiting is not None:
        supersede(waiting)
    newest = session.context_rounds.aggregate(newest=Max("number"))["newest"] or 0
    meter = meter_of(session)
    before = meter.used_tokens if meter else fixed + cut.covered + cut.kept
    made: ContextRound = ContextRound.objects.create(
        owner=session.owner,
        session=session,
        number=newest + 1,
        kind=ContextRound.Kind.COMPACT,
        reason=reason,
        through=session.messages.get(seq=cut.through_seq),
        focus=focus,
        tokens_before=before,
        tokens_after=max(0, before - cut.covered),
    )
    hints.notify(session)
    hint(ContextRound.TASK, made.pk)
    return made


def cut_of(
    session: ChatSession, rows: list[ViewRow], view: RoundsInView, budget: WindowBudget, reason: str, *, least: bool
) -> tuple[Cut | None, int]:
    """Return where to cut the conversation, and the tokens of its head."""
    chars_per_token = facts_for(session).chars_per_token
    fixed = tokens.head_tokens(session.head, chars_per_token).total() if session.head else 0
    sizes = [parts.total() for parts in message_parts(session, rows, chars_per_token, view)]
    turns = turn_sizes(rows, sizes)
    cut = plan_cut(
        turns,
        fixed,
        budget,
        is_asked=reason not in (Reason.THRESHOLD, Reason.PAUSE),
        is_early=reason == Reason.THRESHOLD,
        least=least,
    )
    return cut, fixed


def turn_sizes(rows: list[ViewRow], sizes: list[int]) -> list[TurnSize]:
    """Return the turns of `rows`, whose tokens are `sizes`; what precedes the first message of the person belongs to
    the first turn. Pure."""
    starts = [index for index, row in enumerate(rows) if row.role == Message.Role.USER]
    edges = [0, *starts[1:], len(rows)] if rows else []
    return [TurnSize(rows[end - 1].seq, sum(sizes[begin:end])) for begin, end in pairwise(edges) if end > begin]


def budget_for(session: ChatSession) -> WindowBudget:
    """Return the token budget of the model of `session`."""
    window = tokens.window_of(facts_for(session), settings.CONTEXT)
    return budget_of(window, settings.COMPACTION_RESERVE, settings.KEEP_TOKENS)


def fullness(session: ChatSession, meter: Meter | None, *, is_early: bool = False) -> str | None:
    """Return why the next request needs a round, or with `is_early` will need one soon; None when it does not."""
    budget = budget_for(session)
    if meter is not None and meter.used_tokens >= (budget.early if is_early else budget.usable):
        return Reason.THRESHOLD
    most = settings.COMPACTION_MESSAGES
    most = int(most * EARLY_MESSAGES_SHARE) if is_early else most
    if most and session.last_seq >= most:
        through = rounds_in_view(session).through_seq
        if session.last_seq - through >= most and session.messages.shown().filter(seq__gt=through).count() >= most:
            return Reason.MESSAGES
    return None


def waiting_round(session: ChatSession) -> ContextRound | None:
    """Return the round of `session` that is being made, or is ready and not used yet."""
    waiting = session.context_rounds.open() | session.context_rounds.unused()
    found: ContextRound | None = waiting.select_related("through").order_by("number").last()
    return found


def is_outdated(session: ChatSession, waiting: ContextRound, budget: WindowBudget, focus: str, *, least: bool) -> bool:
    """Return whether another round should replace `waiting`: it is of another branch, or the conversation has grown so
    much since that it frees too little now, or the person asks for something else."""
    if not waiting.through.active or least or (focus and focus != waiting.focus):
        return True
    if waiting.is_open:
        return False
    meter = meter_of(session)
    if meter is None or meter.used_tokens < budget.due:
        return False
    freed = waiting.tokens_before - waiting.tokens_after
    return meter.used_tokens - freed > budget.target + budget.gain


def supersede(waiting: ContextRound) -> None:
    """End a round that another one replaces. Its summary is used to make the other one."""
    checks = [*waiting.checks, Check.SUPERSEDED]
    if waiting.is_open:
        # Without its token, the worker that makes it cannot store anything.
        ended = {"status": ContextRound.Status.NOTHING, "token": None, "lease_until": None}
        ContextRound.objects.filter(pk=waiting.pk).update(**ended, finished_at=timezone.now(), checks=checks)
    else:
        ContextRound.objects.filter(pk=waiting.pk).update(undone_at=timezone.now(), checks=checks)


def was_declined(session: ChatSession) -> bool:
    """Return whether the person undid or stopped the newest summary: another one is made only when it is needed."""
    newest = session.context_rounds.summaries().order_by("number").last()
    return newest is not None and newest.state in (ContextRound.State.UNDONE, ContextRound.State.STOPPED)


def is_paused(session: ChatSession) -> bool:
    """Return whether rounds no longer begin by themselves: the last ones failed, or followed one another too soon."""
    if keeps_failing(session):
        return True
    used = session.context_rounds.filter(kind=ContextRound.Kind.COMPACT, reason__in=AUTOMATIC).exclude(used_at=None)
    earlier = used.order_by("-number").values_list("used_after_seq", flat=True)[ROUNDS_MAX_COUNT - 1 :].first()
    if earlier is None:
        return False
    turns = session.messages.shown().filter(role=Message.Role.USER, seq__gt=earlier).count()
    return turns < ROUNDS_MIN_TURNS


def keeps_failing(session: ChatSession) -> bool:
    """Return whether the last rounds all failed, or were vetoed by a hook."""
    newest = list(session.context_rounds.order_by("-number")[:FAILURES_MAX_COUNT])
    ended = (ContextRound.Status.FAILED, ContextRound.Status.NOTHING)
    return len(newest) == FAILURES_MAX_COUNT and all(each.status in ended and each.error for each in newest)
