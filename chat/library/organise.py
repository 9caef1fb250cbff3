"""Actions on a person's conversations, one or many at once: pin, move to a folder, archive, delete, restore."""

import uuid
from collections.abc import Callable, Collection
from functools import partial
from typing import Any

from django.db import IntegrityError, transaction
from django.db.models import F
from django.dispatch import receiver
from django.utils import timezone
from django.utils.translation import gettext_lazy

from chat.conversations import lifecycle
from chat.conversations.shared import people
from chat.library import member_lists
from chat.models import ChatSession, ChatSessionQuerySet, Folder
from chat.models.sharing import visibility
from chat.signals import turn_finished
from oneclaw import pubsub
from oneclaw.models import User
from oneclaw.text import UserFacingError, validated_text

# Limits of the conversations that one request may change, and of a person's folders.
REQUEST_MAX_SESSIONS = 500
PERSON_MAX_FOLDERS = 100


class TooManyFoldersError(UserFacingError, ValueError):
    """The person has the maximum number of folders."""

    wording = gettext_lazy("You have reached the maximum number of folders. Delete one first.")


class FolderExistsError(UserFacingError, ValueError):
    """The person already has a folder of this name."""

    wording = gettext_lazy("A folder with this name already exists.")


@transaction.atomic
def organise(user: User, ids: Collection[uuid.UUID], action: str, folder: Folder | None = None) -> int:
    """Apply `action`, a key of ACTIONS, to those of the conversations that are the person's; return how many changed.

    `folder` is the target of "move"; None takes them out of their folder. Idempotent. Raise KeyError for an unknown
    action.
    """
    chosen = ChatSession.objects.filter(pk__in=list(ids)[:REQUEST_MAX_SESSIONS])
    changed = ACTIONS[action](user, changeable_by(user, chosen, action), folder)
    if action in member_lists.ACTIONS:
        changed += member_lists.ACTIONS[action](user, chosen, folder)
    if changed:
        pubsub.notify(f"user:{user.pk}", {"kind": "sessions"})
    return changed


def changeable_by(user: User, sessions: ChatSessionQuerySet, action: str) -> ChatSessionQuerySet:
    """Return those of `sessions` in whose rows `action` of the person changes something, deleted ones too.

    Where a shared one of another person is in the list of `user` is in another row (chat/library/member_lists.py), and
    it ends for no one: the others go on with it.
    """
    if action in ("delete", "restore"):
        return sessions.managed_by(user)
    if action in ("archive", "reset"):
        return sessions.filter(visibility.private(user))
    return sessions.filter(visibility.visible(user), owner=user)


def mark_read(user: User, session_id: uuid.UUID, seq: int) -> None:
    """Record that the person has seen the messages up to `seq` on a page."""
    seen = ChatSession.objects.visible_to(user).filter(pk=session_id, last_seq__gte=seq)
    if seen.filter(owner=user, read_seq__lt=seq).update(read_seq=seq) or member_lists.mark_read(user, seen, seq):
        pubsub.notify(f"user:{user.pk}", {"kind": "sessions"})


@receiver(turn_finished)
def notify_list(session: ChatSession, **_: Any) -> None:
    """Notify the pages of all who see the session that the order of the list and the unread marks have changed."""
    people.notify_lists(session)


def get_or_create_folder(user: User, name: str) -> Folder:
    """Return the person's folder `name`, which is created if needed.

    Raise oneclaw.text.InvalidTextError when the name is invalid, TooManyFoldersError.
    """
    name = checked_folder_name(name)
    known = user.folders.filter(name=name).first()
    if known is not None:
        return known
    if user.folders.count() >= PERSON_MAX_FOLDERS:
        raise TooManyFoldersError
    return user.folders.get_or_create(name=name)[0]


def rename_folder(folder: Folder, name: str | None) -> None:
    """Rename `folder`. Raise oneclaw.text.InvalidTextError when the name is invalid, FolderExistsError."""
    folder.name = checked_folder_name(name)
    try:
        with transaction.atomic():
            folder.save(update_fields=["name"])
    except IntegrityError:
        raise FolderExistsError from None
    pubsub.notify(f"user:{folder.owner_id}", {"kind": "sessions"})


def delete_folder(folder: Folder) -> None:
    """Delete `folder`; its conversations stay."""
    folder.delete()
    pubsub.notify(f"user:{folder.owner_id}", {"kind": "sessions"})


def checked_folder_name(name: str | None) -> str:
    """Return the name of a folder with single spaces. Raise oneclaw.text.InvalidTextError when it is invalid."""
    text = validated_text(name, max_chars=Folder.NAME_MAX_CHARS, name=gettext_lazy("The folder's name"))
    return " ".join(text.split())


def _present(mine: ChatSessionQuerySet) -> ChatSessionQuerySet:
    return mine.filter(deleted_at=None)


def _each(found: ChatSessionQuerySet, change: Callable[[ChatSession], object]) -> int:
    # In one order, so that two requests that change the same conversations do not deadlock.
    chosen = list(found.select_related("owner").order_by("pk"))
    for session in chosen:
        change(session)
    return len(chosen)


# Who acts, the conversations that an action changes, and the folder of "move"; each returns how many it changed.
ACTIONS: dict[str, Callable[[User, ChatSessionQuerySet, Folder | None], int]] = {
    "pin": lambda _user, mine, _: (
        _present(mine).filter(pinned_at=None).update(pinned_at=timezone.now(), archived_at=None)
    ),
    "unpin": lambda _user, mine, _: mine.exclude(pinned_at=None).update(pinned_at=None),
    "move": lambda _user, mine, folder: _present(mine).update(folder=folder),
    "archive": lambda _user, mine, _: _each(
        _present(mine).filter(archived_at=None), partial(lifecycle.end, reason="archive")
    ),
    "reset": lambda _user, mine, _: _each(_present(mine), partial(lifecycle.end, reason="reset")),
    "unarchive": lambda _user, mine, _: _present(mine).exclude(archived_at=None).update(archived_at=None),
    "delete": lambda user, mine, _: _each(_present(mine), partial(lifecycle.delete, by=user)),
    "restore": lambda _user, mine, _: lifecycle.restore(mine),
    "read": lambda _user, mine, _: mine.filter(read_seq__lt=F("last_seq")).update(read_seq=F("last_seq")),
}
