"""Correct the summary of a round, undo the round, or stop it being made, as its owner asks."""

import uuid

from django.db import transaction
from django.db.models import Q, QuerySet
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from chat.compaction import hints, make, planning
from chat.compaction.checks import Check
from chat.context.heads import withhold_thinking
from chat.conversations import lifecycle
from chat.models import ChatSession, ContextRound
from oneclaw.jobs import OPEN_STATUSES, Job
from oneclaw.models import User
from oneclaw.text import UserFacingError, validated_text

SUMMARY_MAX_CHARS = 40_000


class RoundNotFoundError(UserFacingError):
    """The round does not exist, belongs to another person, or is no longer used."""

    wording = _("This summary is no longer used. Reload the conversation.")


class NotASummaryError(UserFacingError):
    """The round has no summary that could be changed."""

    wording = _("This summary is not finished yet.")


@transaction.atomic
def edit(user: User, session_id: uuid.UUID, number: int, text: str) -> ContextRound:
    """Replace the summary of a round by the person's own text, which the model reads from the next message on.

    A signed block of the API is dropped, because its signature covers the words. Raise RoundNotFoundError,
    NotASummaryError, oneclaw.text.InvalidTextError.
    """
    session, found = locked_round(user, session_id, number)
    if found.undone_at is not None:
        raise RoundNotFoundError
    if not found.may_be_edited:
        raise NotASummaryError
    found.summary = validated_text(text, max_chars=SUMMARY_MAX_CHARS, name=_("The summary"))
    found.maker = ContextRound.Maker.PERSON
    found.save(update_fields=["summary", "maker"])
    make.without_block(found)
    make_later_anew(session, found)
    change_view(session, found)
    return found


@transaction.atomic
def undo(user: User, session_id: uuid.UUID, number: int) -> ContextRound:
    """Stop using a round: the model is sent what it replaced again. Idempotent. A round that is being made is stopped.

    Raise RoundNotFoundError.
    """
    session, found = locked_round(user, session_id, number)
    if found.is_open:
        end(session.context_rounds.filter(pk=found.pk))
        found.refresh_from_db()
    elif found.may_be_undone:
        found.undone_at = timezone.now()
        found.save(update_fields=["undone_at"])
        if found.kind == ContextRound.Kind.COMPACT:
            end(waiting_after(session, found))
            erase_superseded(session, found)
    else:
        return found
    change_view(session, found)
    return found


@transaction.atomic
def undo_newest(user: User, session_id: uuid.UUID, key: uuid.UUID) -> ContextRound | None:
    """Undo the newest summary of the person's conversation, and return its round; None when there is none to undo.

    The same `key` again undoes nothing more. Raise chat.conversations.lifecycle.SessionNotFoundError.
    """
    session = lifecycle.find(user, session_id)
    if session is None:
        return None
    ChatSession.objects.select_for_update(no_key=True).get(pk=session.pk)
    undone: ContextRound | None = session.context_rounds.filter(undo_key=key).first()
    newest = undone or newest_used(session)
    if newest is None or undone is not None:
        return undone
    found = undo(user, session.pk, newest.number)
    ContextRound.objects.filter(pk=found.pk).update(undo_key=key)
    return found


def newest_used(session: ChatSession) -> ContextRound | None:
    """Return the newest summary that is used, ready or being made, whose round can be undone; None without one."""
    rounds = session.context_rounds.summaries()
    found: ContextRound | None = (rounds.open() | rounds.usable()).order_by("number").last()
    return found


def locked_round(user: User, session_id: uuid.UUID, number: int) -> tuple[ChatSession, ContextRound]:
    """Lock and return the person's session, and its round. Raise RoundNotFoundError."""
    try:
        session = lifecycle.find(user, session_id)
    except lifecycle.SessionNotFoundError:
        session = None
    if session is None:
        raise RoundNotFoundError
    locked = ChatSession.objects.select_for_update(no_key=True).get(pk=session.pk)
    found = locked.context_rounds.select_for_update().filter(number=number).first()
    if found is None:
        raise RoundNotFoundError
    return locked, found


def make_later_anew(session: ChatSession, changed: ContextRound) -> None:
    """Replace a later summary that is not used yet by a new one, because it may say what the person has corrected."""
    for waiting in waiting_after(session, changed):
        planning.supersede(waiting)
        erase_superseded(session, changed)
        planning.plan(session, waiting.reason, waiting.focus)
    erase_superseded(session, changed)


def waiting_after(session: ChatSession, changed: ContextRound) -> QuerySet[ContextRound]:
    """Return the later round that is made with the summary of `changed`, finished or not, if it is not used yet."""
    rounds: QuerySet[ContextRound] = session.context_rounds.summaries().filter(number__gt=changed.number)
    return rounds.filter(Q(status__in=OPEN_STATUSES) | Q(status=Job.Status.DONE, used_at=None, undone_at=None))


def erase_superseded(session: ChatSession, changed: ContextRound) -> None:
    """Erase the summaries that were superseded since `changed`, so that no other one is made of them."""
    superseded = session.context_rounds.filter(number__gt=changed.number, checks__contains=[Check.SUPERSEDED])
    superseded.update(summary="", text="", block=None, supplement={}, steps=[])


def end(rounds: QuerySet[ContextRound]) -> None:
    """Undo those of `rounds` that are finished, and stop those that are being made."""
    rounds.filter(status=Job.Status.DONE).update(undone_at=timezone.now())
    # Without its token, the worker that makes one cannot store anything.
    ended = {"status": Job.Status.NOTHING, "token": None, "lease_until": None}
    rounds.filter(status__in=OPEN_STATUSES).update(**ended, finished_at=timezone.now())


def change_view(session: ChatSession, changed: ContextRound) -> None:
    """Withhold the thinking that was made with what the round has replaced until now, and tell open pages."""
    if changed.used_at is not None:
        # Also that of an answer that is being written: it was made with what is changed now.
        withhold_thinking(session, session.last_seq)
    hints.notify(session)
