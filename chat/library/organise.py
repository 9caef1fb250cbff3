"""What a person does with their conversations in the list, one or many at once: pin, file, archive, delete, restore."""

import uuid
from collections.abc import Callable, Collection
from typing import Any

from django.db import IntegrityError, transaction
from django.db.models import F
from django.dispatch import receiver
from django.utils import timezone
from django.utils.translation import gettext_lazy

from chat.conversations import lifecycle
from chat.models import ChatSession, ChatSessionQuerySet, Folder
from chat.signals import turn_finished
from oneclaw import pubsub
from oneclaw.models import User
from oneclaw.text import Told, checked

# Conversations that one request may change, and folders that a person may have.
MOST_AT_ONCE = 500
MOST_FOLDERS = 100


class TooManyFolders(Told, ValueError):
    """The person has as many folders as there can be."""

    words = gettext_lazy("You have reached the maximum number of folders. Delete one first.")


class FolderExists(Told, ValueError):
    """The person has a folder of this name already."""

    words = gettext_lazy("A folder with this name already exists.")


@transaction.atomic
def organise(user: User, ids: Collection[uuid.UUID], action: str, folder: Folder | None = None) -> int:
    """Do `action`, a key of ACTIONS, to those of the conversations that are the person's; how many it changed.

    `folder` is meant by move; None takes them out of theirs. Safe to run twice. Raises KeyError for another action.
    """
    change = ACTIONS[action]
    mine = ChatSession.objects.filter(owner=user, pk__in=list(ids)[:MOST_AT_ONCE])
    changed = change(mine, folder)
    if changed:
        pubsub.notify(f"user:{user.pk}", {"kind": "sessions"})
    return changed


def mark_read(user: User, session_id: uuid.UUID, seq: int) -> None:
    """The person has had the messages up to `seq` on a page."""
    session = ChatSession.objects.visible_to(user).filter(pk=session_id, read_seq__lt=seq, last_seq__gte=seq)
    if session.update(read_seq=seq):
        pubsub.notify(f"user:{user.pk}", {"kind": "sessions"})


@receiver(turn_finished)
def when_answered(user: User, **_: Any) -> None:
    """The conversation is the newest one now, and unread in every page that shows another."""
    pubsub.notify(f"user:{user.pk}", {"kind": "sessions"})


def folder_called(user: User, name: str) -> Folder:
    """The person's folder of this name, made when there is none. Raises oneclaw.text.BadText, TooManyFolders."""
    name = folder_name(name)
    known = user.folders.filter(name=name).first()
    if known is not None:
        return known
    if user.folders.count() >= MOST_FOLDERS:
        raise TooManyFolders
    return user.folders.get_or_create(name=name)[0]


def rename_folder(folder: Folder, name: str | None) -> None:
    """Raises oneclaw.text.BadText, FolderExists."""
    folder.name = folder_name(name)
    try:
        with transaction.atomic():
            folder.save(update_fields=["name"])
    except IntegrityError:
        raise FolderExists from None
    pubsub.notify(f"user:{folder.owner_id}", {"kind": "sessions"})


def delete_folder(folder: Folder) -> None:
    """Its conversations stay."""
    folder.delete()
    pubsub.notify(f"user:{folder.owner_id}", {"kind": "sessions"})


def folder_name(name: str | None) -> str:
    """Raises oneclaw.text.BadText."""
    return " ".join(checked(name, longest=Folder.LONGEST_NAME, name=gettext_lazy("The folder's name")).split())


def _pin(mine: ChatSessionQuerySet, _: Folder | None) -> int:
    return mine.filter(deleted_at=None, pinned_at=None).update(pinned_at=timezone.now(), archived_at=None)


def _unpin(mine: ChatSessionQuerySet, _: Folder | None) -> int:
    return mine.exclude(pinned_at=None).update(pinned_at=None)


def _move(mine: ChatSessionQuerySet, folder: Folder | None) -> int:
    return mine.filter(deleted_at=None).update(folder=folder)


def _archive(mine: ChatSessionQuerySet, _: Folder | None) -> int:
    return _each(mine.filter(deleted_at=None, archived_at=None), lambda session: lifecycle.end(session, "archive"))


def _unarchive(mine: ChatSessionQuerySet, _: Folder | None) -> int:
    return mine.filter(deleted_at=None).exclude(archived_at=None).update(archived_at=None)


def _delete(mine: ChatSessionQuerySet, _: Folder | None) -> int:
    return _each(mine.filter(deleted_at=None), lifecycle.delete)


def _restore(mine: ChatSessionQuerySet, _: Folder | None) -> int:
    # Of a temporary one there is nothing left.
    return mine.exclude(deleted_at=None).exclude(mode=ChatSession.Mode.TEMPORARY).update(deleted_at=None)


def _read(mine: ChatSessionQuerySet, _: Folder | None) -> int:
    return mine.filter(read_seq__lt=F("last_seq")).update(read_seq=F("last_seq"))


def _each(found: ChatSessionQuerySet, change: Callable[[ChatSession], None]) -> int:
    # One order, so that two requests that change the same ones do not wait for each other.
    chosen = list(found.select_related("owner").order_by("pk"))
    for session in chosen:
        change(session)
    return len(chosen)


ACTIONS: dict[str, Callable[[ChatSessionQuerySet, Folder | None], int]] = {
    "pin": _pin,
    "unpin": _unpin,
    "move": _move,
    "archive": _archive,
    "unarchive": _unarchive,
    "delete": _delete,
    "restore": _restore,
    "read": _read,
}
