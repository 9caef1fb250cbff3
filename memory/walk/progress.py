"""Find out from the rows how far a person has come in the walk through memory, and store it."""

import uuid
from collections.abc import Collection
from dataclasses import dataclass

from django.db.models import Q, QuerySet

from chat.context.per_message import META_KEY
from chat.models import ChatSession, Message
from memory.models import DemoWalk, MemoryRevision
from memory.prompt.items import NAME
from memory.prompt.sent import READING_TOOLS
from oneclaw.models import User, clock

# The steps in their order, as fields of DemoWalk.
SAVED, MOVED, RECALLED = STEPS = ("saved_at", "moved_at", "recalled_at")


@dataclass(frozen=True)
class Save:
    """What a person had the assistant save first: where the walk begins."""

    revision: MemoryRevision
    # None: the conversation was deleted.
    session_id: uuid.UUID | None


def walk_of(user: User) -> DemoWalk:
    """Return the walk of `user` as it is stored; a new one when there is none."""
    return DemoWalk.objects.filter(user=user).first() or DemoWalk(user=user)


def advance(walk: DemoWalk, save: Save | None) -> None:
    """Store in `walk` the steps that were done since, and close it when all are."""
    done = steps_since(walk, save) if save else []
    if done:
        is_over = all(getattr(walk, step) or step in done for step in STEPS)
        store(walk, [*done, "closed_at"] if is_over else done)


def close(walk: DemoWalk) -> None:
    """Store that the person does not want to see the walk any more. Idempotent."""
    if walk.closed_at is None:
        store(walk, ["closed_at"])


def store(walk: DemoWalk, names: Collection[str]) -> None:
    """Store the present time in the fields `names` of `walk`."""
    times = dict.fromkeys(names, clock.database_now())
    for name, time in times.items():
        setattr(walk, name, time)
    DemoWalk.objects.update_or_create(user=walk.user, defaults=times)


def first_save(user: User) -> Save | None:
    """Return what the assistant saved first for `user`; None when nothing."""
    revision = saves_of(user).select_related("message", "document").order_by("pk").first()
    if revision is None:
        return None
    return Save(revision, revision.message.session_id if revision.message else None)


def saves_of(user: User) -> QuerySet[MemoryRevision]:
    """Return what the assistant has saved for `user`."""
    mine = MemoryRevision.objects.filter(space__roles__user=user, author=user)
    return mine.filter(source=MemoryRevision.Source.TOOL)


def steps_since(walk: DemoWalk, save: Save) -> list[str]:
    """Return the steps that rows prove and `walk` does not know yet."""
    user, done = walk.user, [SAVED]
    if recalls(user, save).exists():
        done += [MOVED, RECALLED]
    elif walk.moved_at is None and later_conversations(user, save).exists():
        done.append(MOVED)
    return [step for step in done if getattr(walk, step) is None]


def later_conversations(user: User, save: Save) -> QuerySet[ChatSession]:
    """Return the other conversations that `user` began after `save`."""
    later = ChatSession.objects.private_to(user).filter(created_at__gt=save.revision.created_at, last_seq__gt=0)
    return later.exclude(pk=save.session_id) if save.session_id else later


def recalls(user: User, save: Save) -> QuerySet[Message]:
    """Return the messages of other conversations after `save` in which memory was searched, or sent with a question."""
    searched = Q()
    for name in READING_TOOLS:
        searched |= Q(role=Message.Role.ASSISTANT, content__contains=[{"type": "tool_use", "name": name}])
    recalled = Q(role=Message.Role.USER, **{f"meta__{META_KEY}__has_key": NAME})
    later = Message.objects.private_to(user).filter(created_at__gt=save.revision.created_at)
    return later.filter(searched | recalled).exclude(session=save.session_id)
