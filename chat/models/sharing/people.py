"""What each member keeps of a conversation that another person has shared: how far they have read, and where it is in
their list."""

import datetime as dt
from dataclasses import dataclass
from operator import attrgetter

from django.db import models
from django.db.models import Case, F, FilteredRelation, Q, When
from django.db.models.functions import Coalesce

from chat.models.conversations import ChatSession, ChatSessionQuerySet, Folder
from oneclaw.models import User


class SessionMember(models.Model):
    """The place of a shared conversation in the list of a member. That of its owner is in ChatSession."""

    session = models.ForeignKey(ChatSession, on_delete=models.CASCADE, related_name="people", db_index=False)
    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="+")
    # The newest message that the person has seen on a page.
    read_seq = models.PositiveBigIntegerField(default=0)
    pinned_at = models.DateTimeField(null=True, blank=True)
    folder = models.ForeignKey(Folder, on_delete=models.SET_NULL, null=True, blank=True, related_name="+")
    archived_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["session", "user"], name="member_once_per_session")]

    def __str__(self) -> str:
        return f"{self.user_id} in {self.session_id}"


@dataclass(frozen=True)
class ListPosition:
    """Where a conversation is in a person's list, and the newest of its messages that the person has seen."""

    read_seq: int
    pinned_at: dt.datetime | None
    folder_id: int | None
    archived_at: dt.datetime | None


# The annotations of `placed`.
_POSITION = attrgetter("my_read_seq", "my_pinned_at", "my_folder", "my_archived_at")


def position_of(session: ChatSession) -> ListPosition:
    """Return where `session`, which was read by `placed`, is in the person's list."""
    return ListPosition(*_POSITION(session))


def placed(sessions: ChatSessionQuerySet, user: User) -> ChatSessionQuerySet:
    """Annotate `sessions` with where each is in the person's list: `my_read_seq`, `my_pinned_at`, `my_folder` (an id)
    and `my_archived_at`."""
    found: ChatSessionQuerySet = sessions.alias(place=member_row(user)).annotate(
        my_read_seq=Case(When(owner=user, then=F("read_seq")), default=Coalesce(F("place__read_seq"), 0)),
        my_pinned_at=Case(When(owner=user, then=F("pinned_at")), default=F("place__pinned_at")),
        my_folder=Case(When(owner=user, then=F("folder_id")), default=F("place__folder_id")),
        my_archived_at=Case(When(owner=user, then=F("archived_at")), default=F("place__archived_at")),
    )
    return found


def member_row(user: User) -> FilteredRelation:
    """Return the row of the person for each conversation, as a relation for a query."""
    return FilteredRelation("people", condition=Q(people__user=user))
