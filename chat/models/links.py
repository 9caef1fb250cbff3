"""Shared links: public copies of conversations."""

import datetime as dt
from typing import ClassVar

from django.db import models
from django.db.models import Exists, OuterRef, Q
from django.utils import timezone

from chat.models.conversations import ChatSession
from chat.models.sharing import visibility
from oneclaw.models import SpaceRole, User, clock


class SharedLinkQuerySet(models.QuerySet["SharedLink"]):
    def visible_to(self, user: User) -> "SharedLinkQuerySet":
        """Return the links to the conversations that `user` has begun, as long as they see them."""
        return self.filter(visibility.visible(user, "session__"), session__owner=user, session__deleted_at=None)

    def live(self, now: dt.datetime | None = None) -> "SharedLinkQuerySet":
        """Return the links that work at `now`: not expired, conversation not deleted, owner's account active, and the
        owner still a member where it is shared."""
        is_member = SpaceRole.objects.filter(space=OuterRef("session__space"), user=OuterRef("session__owner"))
        seen = Q(session__shared_at=None) | Exists(is_member)
        kept = self.filter(seen, session__deleted_at=None, session__owner__is_active=True)
        return kept.filter(Q(expires_at=None) | Q(expires_at__gt=now or clock.database_now()))


class SharedLink(models.Model):
    """A copy of a conversation as it was at one moment, public under its link. Revoking the link deletes the row."""

    session = models.ForeignKey(ChatSession, on_delete=models.CASCADE, related_name="shared_links")
    # SHA-256 of the token in the link; the token itself is not stored.
    token_hash = models.CharField(max_length=64, unique=True)
    title = models.CharField(max_length=200)
    # What is shown: [{"role", "parts": [{"text"} or {"html"} or {"left_out"}]}] (chat/transfer/share.py).
    snapshot = models.JSONField(default=list)
    created_at = models.DateTimeField(default=timezone.now)
    # None: never.
    expires_at = models.DateTimeField(null=True, blank=True)

    objects: ClassVar[models.Manager["SharedLink"]] = SharedLinkQuerySet.as_manager()

    class Meta:
        ordering = ["-created_at"]

    def __str__(self) -> str:
        return f"link to {self.session_id}"

    @property
    def is_expired(self) -> bool:
        return self.expires_at is not None and self.expires_at <= timezone.now()
