"""Shared links: copies of conversations that others can open."""

import datetime as dt
from typing import ClassVar

from django.db import models
from django.db.models import Exists, OuterRef, Q
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from chat.models.conversations import ChatSession
from chat.models.sharing import visibility
from oneclaw.models import Space, SpaceRole, User, clock


class SharedLinkQuerySet(models.QuerySet["SharedLink"]):
    def visible_to(self, user: User) -> "SharedLinkQuerySet":
        """Return the links to the conversations that `user` has begun, as long as they see them."""
        return self.filter(visibility.visible(user, "session__"), session__owner=user, session__deleted_at=None)

    def live(self, now: dt.datetime | None = None) -> "SharedLinkQuerySet":
        """Return the links that work at `now`: not expired, conversation not deleted, owner's account active, and the
        owner still a member where it is shared, and of the space whose members may open it."""
        kept = self.filter(session__deleted_at=None, session__owner__is_active=True)
        roles = SpaceRole.objects.filter(user=OuterRef("session__owner"))
        kept = kept.filter(Q(session__shared_at=None) | Exists(roles.filter(space=OuterRef("session__space"))))
        kept = kept.filter(Q(space=None) | Exists(roles.filter(space=OuterRef("space"))))
        return kept.filter(Q(expires_at=None) | Q(expires_at__gt=now or clock.database_now()))

    def open_to(self, person: User | None) -> "SharedLinkQuerySet":
        """Return the live links that `person` may open; with None, those that a person who is signed out may."""
        allowed = Q(scope=SharedLink.Scope.EVERYBODY)
        if person is not None:
            has_role = SpaceRole.objects.filter(space=OuterRef("space"), user=person)
            allowed |= Q(scope=SharedLink.Scope.SIGNED_IN) | Q(Exists(has_role), scope=SharedLink.Scope.SPACE)
        return self.live().filter(allowed)


class SharedLink(models.Model):
    """A copy of a conversation as it was at one moment, which the people of its scope open by its address. Revoking the
    link deletes the row."""

    class Scope(models.TextChoices):
        EVERYBODY = "everybody", _("Everybody who has the link")
        SIGNED_IN = "signed_in", _("Signed-in people who have the link")
        SPACE = "space", _("Members of a space who have the link")

    session = models.ForeignKey(ChatSession, on_delete=models.CASCADE, related_name="shared_links")
    # SHA-256 of the token in the link; the token itself is not stored.
    token_hash = models.CharField(max_length=64, unique=True)
    scope = models.CharField(max_length=10, choices=Scope, default=Scope.EVERYBODY, db_default="everybody")
    # Of the scope SPACE: whose members may open it. Without the space nobody may.
    space = models.ForeignKey(Space, on_delete=models.CASCADE, null=True, blank=True, related_name="+")
    title = models.CharField(max_length=200)
    # What is shown: [{"role", "parts": [{"text"} or {"html"} or {"left_out"}], "markdown"}] (chat/transfer/share.py).
    snapshot = models.JSONField(default=list)
    created_at = models.DateTimeField(default=timezone.now)
    # None: never.
    expires_at = models.DateTimeField(null=True, blank=True)

    objects: ClassVar[models.Manager["SharedLink"]] = SharedLinkQuerySet.as_manager()

    class Meta:
        ordering = ["-created_at"]
        constraints = [
            models.CheckConstraint(
                condition=Q(scope="space", space__isnull=False) | (~Q(scope="space") & Q(space=None)),
                name="link_scope_names_its_space",
            )
        ]

    def __str__(self) -> str:
        return f"link to {self.session_id}"

    @property
    def is_expired(self) -> bool:
        return self.expires_at is not None and self.expires_at <= timezone.now()

    @property
    def can_be_copied(self) -> bool:
        """Return whether its text can be continued; links that an earlier release made have none."""
        return bool(self.snapshot) and all("markdown" in message for message in self.snapshot)
