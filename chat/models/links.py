"""Shared links: public copies of conversations."""

import datetime as dt
from typing import ClassVar

from django.db import models
from django.db.models import Q
from django.utils import timezone

from chat.models.conversations import ChatSession
from oneclaw.models import User, clock


class SharedLinkQuerySet(models.QuerySet["SharedLink"]):
    def visible_to(self, user: User) -> "SharedLinkQuerySet":
        return self.filter(session__owner=user, session__deleted_at=None)

    def live(self, now: dt.datetime | None = None) -> "SharedLinkQuerySet":
        """Return the links that work at `now`: not expired, conversation not deleted, owner's account active."""
        kept = self.filter(session__deleted_at=None, session__owner__is_active=True)
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
