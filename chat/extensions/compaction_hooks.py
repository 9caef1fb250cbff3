"""Ask the hooks before older messages are replaced by a summary, and notify them afterwards.

decision = before_compaction(session, round.through.seq, round.reason, asked_since)
if decision.verdict == "wait": …        # ask again after ASK_AGAIN_SECONDS, with the time of the first question
elif decision.verdict == "veto": …      # show decision.reason
…
after_compaction(session, round.through.seq, round.reason)
"""

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass, replace

from django.utils import timezone

from chat.extensions.hooks import AfterCompaction, BeforeCompaction, Verdict
from chat.extensions.registry import hooks_at
from chat.extensions.run_hooks import FailedHook, run_hooks
from chat.models import ChatSession, ContextRound
from oneclaw.reasons import Reason

# How long handlers may let a summary wait, and after how long they are asked again.
WAIT_MAX_SECONDS, ASK_AGAIN_SECONDS = 60, 5


@dataclass(frozen=True)
class CompactionDecision:
    """What the hooks decided: go on, wait and ask again, or make no summary, for a `reason` to show.

    `focus` is what the summary should keep especially, `must_keep` what it must hold word for word. `is_forced`: the
    window is full, so it goes on although a hook failed or still wanted to wait.
    """

    verdict: Verdict
    reason: Reason | None = None
    focus: str = ""
    must_keep: tuple[str, ...] = ()
    is_forced: bool = False


def before_compaction(
    session: ChatSession, through_seq: int, reason: str, asked_since: dt.datetime | None = None
) -> CompactionDecision:
    """Ask the hooks about a summary of the messages of `session` up to `through_seq`. Sync.

    `reason` is a ContextRound.Reason. `asked_since` is when they were asked about it first; None: they are now. After
    WAIT_MAX_SECONDS a summary that still has to wait is not made, unless the window is full.
    """
    if not hooks_at(BeforeCompaction):
        return CompactionDecision("go")
    asked = BeforeCompaction(
        user_id=session.owner_id, session_id=session.pk, through_seq=through_seq, reason=str(reason)
    )
    run = run_hooks(asked, past_failures=True)
    value = run.value
    go = CompactionDecision("go", focus=value.focus, must_keep=value.must_keep)
    if value.verdict == "veto" and reason == ContextRound.Reason.OVERFLOW:
        # Without a summary, the conversation would end here.
        return replace(go, is_forced=True)
    if value.verdict == "veto":
        veto = Reason("compaction.vetoed", {"name": run.changed_by[-1], "sentence": value.explanation})
        return CompactionDecision("veto", veto)
    if value.verdict == "go" and not run.failed:
        return go
    if reason == ContextRound.Reason.OVERFLOW and (run.failed or _is_over(asked_since)):
        return replace(go, is_forced=True)
    if _is_over(asked_since) or _is_hopeless(run.failed):
        return CompactionDecision("veto", _reason_of(run.failed))
    return CompactionDecision("wait", _reason_of(run.failed))


def after_compaction(session: ChatSession, through_seq: int, reason: str) -> None:
    """Notify the hooks that a summary has replaced the messages of `session` up to `through_seq`. Sync."""
    if hooks_at(AfterCompaction):
        run_hooks(
            AfterCompaction(
                user_id=session.owner_id, session_id=session.pk, through_seq=through_seq, reason=str(reason)
            )
        )


def _is_over(asked_since: dt.datetime | None) -> bool:
    return asked_since is not None and timezone.now() - asked_since >= dt.timedelta(seconds=WAIT_MAX_SECONDS)


def _is_hopeless(failed: Sequence[FailedHook]) -> bool:
    """Return whether waiting cannot help: a hook is switched off until the process ends."""
    return any(each.is_switched_off for each in failed)


def _reason_of(failed: Sequence[FailedHook]) -> Reason:
    if failed:
        return Reason("compaction.check_failed", {"name": failed[0].hook.name})
    return Reason("compaction.waited")
