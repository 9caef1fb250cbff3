"""Share a conversation with the members of a space, and make it private again."""

from dataclasses import dataclass
from typing import Any

from django.db import transaction
from django.db.models import Func, JSONField, QuerySet
from django.db.models.signals import pre_delete
from django.dispatch import receiver
from django.utils.translation import gettext_lazy as _

from chat.conversations import lifecycle, transcript
from chat.conversations.shared import people
from chat.conversations.shared.authorship import MEMBER
from chat.models import Agent, Attachment, ChatSession, MemoryChoice, Message, Schedule, default_agent
from chat.signals import session_shared
from oneclaw import pubsub
from oneclaw.audit import holds
from oneclaw.audit.record import record
from oneclaw.jobs import OPEN_STATUSES, Job
from oneclaw.models import AuditKind, Space, User, clock
from oneclaw.text import UserFacingError

# How many names the dialog shows.
NAMES_MAX_COUNT = 30


class NotShareableWithSpaceError(UserFacingError):
    """The conversation cannot be shared with members of a space."""

    wording = _(
        "Temporary conversations, sub-sessions, and conversations of channels and schedules "
        "cannot be shared with a space."
    )


class NoSpaceError(UserFacingError):
    """The space does not exist, or the person may not write in it."""

    wording = _("Choose a space in which you are an owner or editor.")


class WithBy(Func):
    """The meta of a message that says that another member has written it."""

    template = '%(expressions)s || \'{"by": "member"}\'::jsonb'
    output_field = JSONField()


class WithoutBy(Func):
    """The meta of a message without who wrote it in the person's place."""

    template = "%(expressions)s - 'by'"
    output_field = JSONField()


@dataclass(frozen=True)
class Sharing:
    """What becomes visible when a conversation is shared with `space`, and to whom."""

    space: Space
    messages: int
    files: int
    people: int
    names: list[str]
    # The agent that answers then, when the present one is the person's own or remembers by itself.
    agent: Agent | None


def spaces_for(user: User) -> list[Space]:
    """Return the spaces with which `user` may share a conversation."""
    return list(Space.objects.shared().writable_by(user).filter(archived_at=None).order_by("name", "pk"))


def about(session: ChatSession, space: Space) -> Sharing:
    """Return what becomes visible when `session` is shared with `space`."""
    members = User.objects.filter(space_roles__space=space).exclude(pk=session.owner_id).order_by("first_name", "email")
    said = session.messages.said().exclude(status=Message.Status.RUNNING)
    return Sharing(
        space=space,
        messages=said.count(),
        files=Attachment.objects.filter(names__message__session=session).distinct().count(),
        people=members.count(),
        names=[str(member) for member in members[:NAMES_MAX_COUNT]],
        agent=None if answers_for_others(session.agent) else default_agent(),
    )


def answers_for_others(agent: Agent) -> bool:
    """Return whether `agent` may answer in a shared conversation: one of the server that has no memory of its own."""
    return agent.owner_id is None and not agent.own_memory


@transaction.atomic
def share(user: User, session: ChatSession, space: Space) -> ChatSession:
    """Share the person's conversation with the members of `space`; return it. Idempotent.

    From now on the model is sent nothing that came from a memory before: thoughts, summaries and the system text go.
    Raise SessionNotFoundError, NotShareableWithSpaceError, NoSpaceError, transcript.SessionBusyError, and HeldError
    when a legal hold keeps what is in another space, in which it is.
    """
    locked = lock_own(user, session)
    if not is_shareable(locked):
        raise NotShareableWithSpaceError
    if space.pk not in {each.pk for each in spaces_for(user)}:
        raise NoSpaceError
    if locked.is_shared and locked.space_id == space.pk:
        return locked
    if locked.space is not None and locked.space != space:
        # Outside, the hold would keep it no more.
        holds.refuse_if_held(spaces=[locked.space])
    transcript.refuse_if_busy(locked)
    if locked.children.filter(sub_task__state="running").exists():
        raise transcript.SessionBusyError
    before = people.ids_of(locked)
    locked.space, locked.shared_at, locked.shared_seq = space, clock.read_database_time(), locked.last_seq
    locked.thinking_after_seq = locked.last_seq
    if locked.memory == MemoryChoice.OWN:
        # Nothing of a person is read there; without any memory it stays without.
        locked.memory = MemoryChoice.ALL
    if not answers_for_others(locked.agent):
        locked.agent = default_agent()
    locked.save(update_fields=["space", "shared_at", "shared_seq", "thinking_after_seq", "agent", "memory"])
    leave_rounds(locked)
    written_by_members(locked).filter(by=MEMBER).update(meta=WithoutBy("meta"))
    notify(locked, before)
    record(AuditKind.SHARED, actor=user, space=space, session=str(locked.pk))
    return locked


@transaction.atomic
def unshare(user: User, session: ChatSession) -> ChatSession:
    """Make a shared conversation private to the person who began it; return it. Idempotent.

    They keep what others have written in it; the space is still the one that it is in. Raise SessionNotFoundError,
    transcript.SessionBusyError.
    """
    managed = ChatSession.objects.managed_by(user).filter(pk=session.pk, deleted_at=None)
    locked = managed.select_for_update(of=("self",), no_key=True).first()
    if locked is None:
        raise lifecycle.SessionNotFoundError
    if not locked.is_shared:
        return locked
    transcript.refuse_if_busy(locked)
    record(AuditKind.SHARE_ENDED, actor=user, space=locked.space_id, session=str(locked.pk))
    make_private(locked)
    return locked


@receiver(pre_delete, sender=Space)
def unshare_all(instance: Space, **_: Any) -> None:
    """Make the conversations that are shared with a space private, before the space is deleted."""
    with transaction.atomic():
        shared = ChatSession.objects.filter(space=instance, shared_at__isnull=False).select_related("owner")
        for session in shared.select_for_update(of=("self",), no_key=True).order_by("pk"):
            for turn in session.turns.running():
                # Its process ends it, with what it has said.
                session.turns.filter(pk=turn.pk).update(stop_requested=True)
                pubsub.notify(f"session:{session.pk}", {"kind": "stop", "turn": turn.pk})
            make_private(session)


def make_private(locked: ChatSession) -> None:
    """Make the locked shared session private to its owner."""
    before = people.ids_of(locked)
    locked.shared_at, locked.thinking_after_seq = None, locked.last_seq
    locked.save(update_fields=["shared_at", "thinking_after_seq"])
    locked.queue.all().delete()
    leave_rounds(locked)
    written_by_members(locked).filter(by=None).update(meta=WithBy("meta"))
    notify(locked, before)


def lock_own(user: User, session: ChatSession) -> ChatSession:
    """Lock and return the conversation that `user` has begun and manages. Raise SessionNotFoundError."""
    own = ChatSession.objects.managed_by(user).filter(pk=session.pk, owner=user, deleted_at=None)
    locked = own.select_for_update(of=("self",), no_key=True).first()
    if locked is None:
        raise lifecycle.SessionNotFoundError
    return locked


def is_shareable(session: ChatSession) -> bool:
    """Return whether `session` can be shared: a conversation that only people write in."""
    is_of_people = session.kind == ChatSession.Kind.CONVERSATION and session.route_id is None
    return is_of_people and not session.is_temporary and not Schedule.objects.filter(conversation=session).exists()


def written_by_members(session: ChatSession) -> QuerySet[Message]:
    """Return what others than its owner have written in `session`."""
    return session.messages.filter(author__isnull=False).exclude(author=session.owner_id)


def leave_rounds(session: ChatSession) -> None:
    """Undo the context rounds of the locked `session`: they were made of what is not sent any more."""
    rounds = session.context_rounds.all()
    rounds.filter(status=Job.Status.DONE, undone_at=None).update(undone_at=clock.database_now())
    ended = {"status": Job.Status.NOTHING, "token": None, "lease_until": None}
    rounds.filter(status__in=OPEN_STATUSES).update(**ended, finished_at=clock.database_now())


def notify(session: ChatSession, before: list[int]) -> None:
    """Notify, on commit, the pages of all who see the locked `session`, or have seen it until now."""
    pubsub.notify_all(
        [
            (f"session:{session.pk}", {"kind": "shared", "owner": session.owner_id}),
            *people.list_changes_for({*before, *people.ids_of(session)}),
        ]
    )
    transaction.on_commit(lambda: session_shared.send_robust(ChatSession, user=session.owner, session=session))
