"""Make a planned round: wait until what it replaces is noted, write its summary, check it, and store it as ready.

    run(round_id)           # any worker, any number of times

The model is called outside of any transaction, by the worker that holds the claim (oneclaw/jobs.py).
"""

import logging
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import cast

from django.conf import settings
from django.db import transaction
from django.db.models import F, Q
from django.utils import timezone, translation

from chat import extensions
from chat.compaction import hints, native
from chat.compaction.checks import Check, SummaryRejectedError, check_summary
from chat.compaction.planning import budget_for
from chat.compaction.summaries import (
    PART_MAX_CHARS,
    SpokenMessage,
    extract,
    instructions,
    parts_of,
    spoken,
    summary_in,
    summary_request,
)
from chat.compaction.supplement import SaidMessage, Supplement, supplement_of
from chat.compaction.wording import summary_text, supplement_text
from chat.context.meter import facts_for
from chat.context.prompt import rows_of
from chat.context.view import ViewRow
from chat.conversations.payers import payer_of
from chat.extensions.run_hooks import ASK_AGAIN_SECONDS, CompactionDecision, before_compaction
from chat.models import ChatSession, ContextRound
from oneclaw import llm
from oneclaw.jobs import ClaimLostError, DueJob
from oneclaw.llm.estimate import text_tokens
from oneclaw.llm.failures import ModelRequestError
from oneclaw.models import Spend, clock
from oneclaw.spend.calls import Payer

logger = logging.getLogger(__name__)

Maker = ContextRound.Maker
# Between two questions whether what a round replaces is noted.
PREPARE_SECONDS = 5
# Tries with a model before an extract takes the place of its summary, and of those the ones with the provider's own.
MODEL_MAX_ATTEMPTS = 5
API_MAX_ATTEMPTS = 2
# A summary may have this many times the tokens that are planned for it.
SUMMARY_MAX_FACTOR = 2


@dataclass
class Work:
    """A claimed round with everything that its summary is made of."""

    round: ContextRound
    session: ChatSession
    rows: Sequence[ViewRow]
    # The newest round before it, whose summary replaces the messages before `rows`.
    earlier: ContextRound | None
    checks: list[Check] = field(default_factory=list)
    # What the summary shall keep especially, and what is kept word for word besides the supplement.
    focus: str = ""
    must_keep: list[str] = field(default_factory=list)
    # Whether a turn that has begun waits for it.
    is_in_turn: bool = False

    @property
    def payer(self) -> Payer:
        return payer_of(self.session, Spend.Purpose.SUMMARY, is_in_turn=self.is_in_turn)

    @cached_property
    def said(self) -> list[SpokenMessage]:
        return [SpokenMessage(each.role, self.without_forgotten(each.text)) for each in spoken(self.rows)]

    @cached_property
    def without_forgotten(self) -> Callable[[str], str]:
        """Return a function that takes out of a text what the person has asked to forget, and masks secrets."""
        return extensions.memory().cleaner(self.session)

    @property
    def earlier_summary(self) -> str:
        return self.earlier.summary if self.earlier else ""

    @property
    def summary_max_tokens(self) -> int:
        return budget_for(self.session).summary

    @property
    def summary_max_chars(self) -> int:
        return int(SUMMARY_MAX_FACTOR * self.summary_max_tokens * facts_for(self.session).chars_per_token)


@dataclass(frozen=True)
class Summary:
    """A finished summary; `block` is the provider's own, signed."""

    text: str
    maker: str
    block: llm.Block | None = None


@translation.override("en")
def run(round_id: int, *, is_urgent: bool = False) -> DueJob | None:
    """Make the round `round_id`, if it is due and no other worker has claimed it.

    Return it when it is to be tried again soon, None when it is finished or not ours. A round that a person
    waits for (`is_urgent`) does not wait for notes, and not for another try of the model.
    """
    if is_urgent:
        # It may wait for notes, or for another try.
        ContextRound.objects.queued().filter(pk=round_id).update(due_at=clock.database_now())
    claimed: ContextRound | None = ContextRound.objects.claim(round_id)
    if claimed is None:
        return None
    # Any app takes part in it, and a bug in one must not end the turn that waits for the round.
    with claimed.attempt(
        ModelRequestError, SummaryRejectedError, faults=(Exception,), put_back=partial(put_back, claimed)
    ):
        work = work_of(claimed)
        if work is None:
            claimed.finish(ContextRound.Status.NOTHING)
            hints.notify(claimed.session)
            return None
        decision = asked_hooks(work)
        if decision.verdict == "veto":
            claimed.finish(ContextRound.Status.NOTHING, decision.reason.in_english if decision.reason else "")
            hints.notify(work.session)
            return None
        if decision.verdict == "wait" and not is_urgent:
            claimed.release(ASK_AGAIN_SECONDS)
            return DueJob(round_id, ASK_AGAIN_SECONDS)
        if not is_prepared(work):
            if not is_urgent:
                claimed.release(PREPARE_SECONDS)
                return DueJob(round_id, PREPARE_SECONDS)
            work.checks.append(Check.FLUSH_OWED)
        work.is_in_turn = is_urgent
        with claimed.renewals():
            summary = summary_of(work, is_urgent=is_urgent)
        finish(work, summary)
    return None


def work_of(claimed: ContextRound) -> Work | None:
    """Return what the summary of `claimed` is made of; None when it is of no use any more."""
    session = ChatSession.objects.select_related("agent", "owner", "head").get(pk=claimed.session_id)
    if session.deleted_at is not None or not claimed.through.active:
        return None
    through = claimed.through.seq
    earlier = earlier_round(claimed)
    rows = [row for row in rows_of(session, earlier.through.seq if earlier else 0) if row.seq <= through]
    return Work(claimed, session, rows, earlier, [Check(each) for each in claimed.checks], claimed.focus)


def earlier_round(later: ContextRound) -> ContextRound | None:
    """Return the newest summary of the messages before those of `later`, used or superseded; None without one."""
    rounds = later.session.context_rounds.filter(kind=ContextRound.Kind.COMPACT, through__active=True)
    made = rounds.exclude(summary="").filter(through__seq__lt=later.through.seq, number__lt=later.number)
    kept = made.filter(Q(undone_at=None) | Q(checks__contains=[Check.SUPERSEDED]))
    found: ContextRound | None = kept.select_related("through").order_by("through__seq", "number").last()
    return found


def asked_hooks(work: Work) -> CompactionDecision:
    """Return what the hooks decide about the round; what it shall keep is set in `work`."""
    if work.round.asked_at is None:
        work.round.asked_at = timezone.now()
        work.round.renew(asked_at=work.round.asked_at)
    decision = before_compaction(work.session, work.round.through.seq, work.round.reason, work.round.asked_at)
    work.focus = "\n".join(filter(None, (work.round.focus, decision.focus)))
    work.must_keep = list(decision.must_keep)
    return decision


def is_prepared(work: Work) -> bool:
    """Return whether memory has stored what it keeps of the messages that the round replaces."""
    return extensions.memory().prepare_compaction(work.session, work.round.through.seq)


def extract_now(round_id: int) -> None:
    """Finish an open round with an extract, also when a worker is making it: that worker can store nothing any more."""
    changes = {"status": ContextRound.Status.RUNNING, "token": uuid.uuid4(), "lease_until": ContextRound.lease()}
    if not ContextRound.objects.open().filter(pk=round_id).update(attempts=F("attempts") + 1, **changes):
        return
    claimed = ContextRound.objects.select_related("through").get(pk=round_id)
    work = work_of(claimed)
    if work is None:
        claimed.finish(ContextRound.Status.NOTHING)
        return
    if not is_prepared(work):
        work.checks.append(Check.FLUSH_OWED)
    try:
        finish(work, extracted(work))
    except ClaimLostError:
        # The person stopped it at this moment, or it is to be made anew without a forgotten line.
        logger.warning("Context round %s was changed while an extract was written.", round_id)


def summary_of(work: Work, *, is_urgent: bool) -> Summary:
    """Return the checked summary by the first maker that can write one. Raise ModelRequestError, SummaryRejectedError
    when another try may succeed."""
    attempt = work.round.attempts
    if attempt > MODEL_MAX_ATTEMPTS:
        return extracted(work)
    if attempt <= API_MAX_ATTEMPTS and native.is_possible(work.session, work.checks):
        try:
            made = native.compact(work.session, work.round, work.focus, work.payer)
            check(work, made.text, work.earlier_summary, work.said, has_headings=False)
            if work.without_forgotten(made.text) != made.text:
                # The provider has read the messages themselves.
                raise SummaryRejectedError(Check.FORGOTTEN)
            return Summary(made.text, Maker.API, made.block)
        except llm.BudgetUsedUpError:
            raise
        except (ModelRequestError, SummaryRejectedError) as failure:
            logger.warning("The provider did not summarise conversation %s: %s", work.session.pk, failure)
            work.checks.append(Check.NOT_BY_API)
            work.round.renew(checks=work.checks)
    try:
        return written(work)
    except (ModelRequestError, SummaryRejectedError) as failure:
        if not is_urgent:
            raise
        logger.warning("Conversation %s is cut without a summary: %s", work.session.pk, failure)
        return extracted(work)


def written(work: Work) -> Summary:
    """Return the summary by the fast model, which reads the conversation part after part. Each finished part is stored.

    Raise ModelRequestError, SummaryRejectedError.
    """
    model = settings.COMPACTION_BY if settings.COMPACTION_BY not in ("auto", "model") else settings.FAST_MODEL
    read, summary = work.round.steps or (0, work.earlier_summary)
    # The model's window may be known better than at an earlier try, so the parts may be others.
    for part in parts_of(work.said[read:], llm.prompt_chars(model, PART_MAX_CHARS)):
        before = summary
        request = summary_request(part, before, work.focus, work.summary_max_tokens, model)
        summary = summary_in(llm.complete_sync(request, work.payer))
        check(work, summary, before, part)
        read += len(part)
        if read < len(work.said):
            work.round.renew(steps=[read, summary])
    return Summary(summary, Maker.MODEL)


def check(work: Work, summary: str, earlier: str, said: Sequence[SpokenMessage], *, has_headings: bool = True) -> None:
    """Raise SummaryRejectedError unless `summary` can stand for the summary `earlier` and for `said`."""
    check_summary(
        summary,
        [each.text for each in said],
        instructions(work.focus),
        earlier=earlier,
        max_chars=work.summary_max_chars,
        has_headings=has_headings,
    )


def extracted(work: Work) -> Summary:
    """Return the first words of the person's messages, which need no model."""
    max_chars = int(work.summary_max_tokens * facts_for(work.session).chars_per_token)
    return Summary(extract(work.said, work.earlier_summary, max_chars) or "-", Maker.EXTRACT)


@transaction.atomic
def finish(work: Work, summary: Summary) -> None:
    """Store a summary as ready, with its supplement and the text that the model will be sent.

    Raise ClaimLostError when the claim was lost.
    """
    supplement = supplement_for(work)
    if summary.block:
        text = supplement_text(supplement)
    else:
        text = summary_text(summary.text, summary.maker, supplement, extensions.memory().lookup_hint(work.session))
    size = text_tokens(summary.text if summary.block else "", 3.1) + text_tokens(
        text, facts_for(work.session).chars_per_token
    )
    work.round.finish(
        summary=summary.text,
        maker=summary.maker,
        block=summary.block,
        supplement=supplement,
        text=text,
        steps=[],
        checks=work.checks,
        tokens_after=work.round.tokens_after + size,
    )
    hints.notify(work.session)


def without_block(made: ContextRound) -> None:
    """Drop the signed block of a round: the model is sent its words as text."""
    made.block = None
    made.text = summary_text(made.summary, made.maker, made.supplement, extensions.memory().lookup_hint(made.session))
    made.save(update_fields=["block", "text"])


def supplement_for(work: Work) -> Supplement:
    """Return what is kept word for word with the summary of the round."""
    said = [SaidMessage(each.is_persons, each.text) for each in work.said]
    earlier = cast(Supplement, work.earlier.supplement if work.earlier else {})
    budget = budget_for(work.session)
    found = supplement_of(said, earlier, budget.quoted, facts_for(work.session).chars_per_token)
    # Of all messages up to there, also of those that an earlier summary replaced.
    notes = extensions.memory().summary_notes(work.session, work.round.through.seq)
    if kept := [*work.must_keep, *notes, *extensions.open_work_of(work.session)]:
        found["notes"] = kept
    return found


def put_back(claimed: ContextRound, error: Exception) -> None:
    """Queue the round again for later, and notify the pages when it has failed for good.

    Raise ClaimLostError when the claim is no longer valid.
    """
    if not claimed.put_back(error):
        hints.notify(claimed.session)
