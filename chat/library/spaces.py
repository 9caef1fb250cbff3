"""The conversations of shared spaces: which are listed, moving one in and out, and what goes with a space."""

import uuid
from collections.abc import Mapping
from typing import Any

from django.db import transaction
from django.db.models import Q
from django.dispatch import receiver
from django.utils.html import conditional_escape
from django.utils.translation import gettext_lazy as _

from chat.conversations import lifecycle
from chat.conversations.model_choice import open_spaces
from chat.extensions import Extension, SearchResult
from chat.models import Attachment, ChatSession, ChatSessionQuerySet, MemoryChoice, Message, SharedLink
from oneclaw import pubsub
from oneclaw.audit import holds
from oneclaw.domains import SpacePart
from oneclaw.models import Space, User
from oneclaw.spaces.signals import roles_changed
from oneclaw.text import UserFacingError
from oneclaw.words import contains

# Spaces that the pages of a person list.
PERSON_MAX_SPACES = 200


class SharedConversationError(UserFacingError):
    """The conversation is shared with its space."""

    wording = _("This conversation is shared. Stop sharing it before you move it.")


def visible_in(space: Space, user: User) -> ChatSessionQuerySet:
    """Return the conversations of `space` that `user`, a member, can see: the own private ones and all shared ones,
    newest activity first."""
    in_space = ChatSession.objects.filter(space=space, deleted_at=None).written()
    return in_space.filter(Q(owner=user) | Q(shared_at__isnull=False))


@transaction.atomic
def move(user: User, session_id: uuid.UUID, space: Space | None) -> ChatSession:
    """Move a private conversation of `user` into `space`, or out of every space with None, and return it.

    It stays private. Raise SharedConversationError, SessionNotFoundError, also when the space is not one of those into
    which `user` may move (`open_spaces`), and HeldError when a legal hold keeps what is in its space.
    """
    session = lifecycle.lock(user, session_id)
    if session.shared_at is not None:
        raise SharedConversationError
    if space is not None and not open_spaces(user).filter(pk=space.pk).exists():
        raise lifecycle.SessionNotFoundError
    if session.is_temporary or session.is_read_only:
        raise lifecycle.SessionNotFoundError
    if session.space is not None and session.space != space:
        # Outside, the hold would keep it no more.
        holds.refuse_if_held(spaces=[session.space])
    session.space = space
    if space is None and session.memory == MemoryChoice.SPACE:
        # What it reads is never more than its owner chose.
        session.memory = MemoryChoice.NONE
    session.save(update_fields=["space", "memory"])
    pubsub.notify(f"user:{user.pk}", {"kind": "sessions"})
    return session


def found_open(user: User, space_id: int) -> Space:
    """Return the space into which `user` may move conversations. Raise SessionNotFoundError when there is none."""
    space = open_spaces(user).filter(pk=space_id).first()
    if space is None:
        raise lifecycle.SessionNotFoundError
    return space


def of_person(user: User) -> list[Space]:
    """Return the shared spaces of `user` by name, archived ones too, at most PERSON_MAX_SPACES. One query."""
    return list(Space.objects.visible_to(user).shared().order_by("name", "pk")[:PERSON_MAX_SPACES])


def counts(space: Space) -> Mapping[str, int]:
    """Return how many conversations and links the deletion of `space` concerns."""
    there = ChatSession.objects.filter(space=space, deleted_at=None)
    shared = there.exclude(shared_at=None)
    return {
        "shared_conversations": shared.count(),
        "private_conversations": there.filter(shared_at=None, last_seq__gt=0, kind="").count(),
        "files": Attachment.objects.filter(session__in=shared).exclude(message=None).count(),
        "links": SharedLink.objects.live().filter(Q(session__in=shared) | Q(space=space)).count(),
    }


def remove(space: Space) -> None:
    """Delete the shared conversations of `space`; the private ones stay with their owners and lose the space."""
    shared = ChatSession.objects.filter(space=space).exclude(shared_at=None)
    for session in shared.filter(deleted_at=None).select_related("owner", "agent").order_by("pk"):
        lifecycle.delete(session)
    # A deleted conversation can be restored by its owner, who then has it alone.
    shared.update(shared_at=None)
    people = set(ChatSession.objects.filter(space=space).values_list("owner_id", flat=True))
    only = ChatSession.objects.filter(space=space, memory=MemoryChoice.SPACE)
    only.update(memory=MemoryChoice.NONE)
    ChatSession.objects.filter(space=space).update(space=None)
    if people:
        pubsub.notify_all([(f"user:{person}", {"kind": "sessions"}) for person in sorted(people)])


def writers(space: Space) -> Q:
    """Return who owns a shared conversation of `space`, or wrote in it, as a condition of people."""
    shared = ChatSession.objects.filter(space=space).exclude(shared_at=None)
    authors = Message.objects.filter(session__in=shared, author__isnull=False)
    return Q(pk__in=shared.values("owner")) | Q(pk__in=authors.values("author"))


@receiver(roles_changed)
def notify_lists(user_ids: frozenset[int], **_: Any) -> None:
    """Notify the pages of these people that their spaces have changed."""
    pubsub.notify_all([(f"user:{person}", {"kind": "sessions"}) for person in sorted(user_ids)])


def search(user: User, pieces: list[str], most: int) -> list[SearchResult]:
    """Return the spaces of `user` whose name contains each of the pieces, for the palette."""
    found = Space.objects.visible_to(user).shared().order_by("archived_at", "name", "pk")
    found = found.filter(*(contains("name", piece) for piece in pieces))
    return [
        SearchResult(each.name, conditional_escape(each.description), f"/spaces/{each.pk}/") for each in found[:most]
    ]


PART = SpacePart(counts, remove, writers)
SPACES = Extension("spaces", search=search)
