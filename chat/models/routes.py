"""Routes of messages from outside, the identities behind their peers, and when a route gets a new conversation."""

from typing import ClassVar

from django.db import models
from django.db.models import Q
from django.db.models.functions import Coalesce
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from chat.models.agents import Agent
from oneclaw.models import User, clock

# The longest reset_minutes: 30 days.
RESET_MAX_MINUTES = 43_200


class Reset(models.TextChoices):
    """When a route gets a new conversation without being asked."""

    NONE = "none", _("Never")
    DAILY = "daily", _("Every day")
    IDLE = "idle", _("After a pause")
    BOTH = "both", _("Every day, and after a pause")


class ResetFields(models.Model):
    """A choice about resets; what is empty is as the level above says: route, person, server."""

    reset = models.CharField(max_length=5, choices=Reset, blank=True)
    # The hour of the person's day at which a new day begins for their routes.
    reset_hour = models.PositiveSmallIntegerField(null=True, blank=True)
    # Minutes since the person wrote last.
    reset_minutes = models.PositiveIntegerField(null=True, blank=True)

    class Meta:
        abstract = True


class ResetChoice(ResetFields):
    """What a person chose for all of their routes."""

    owner = models.OneToOneField(User, on_delete=models.CASCADE, related_name="reset_choice", primary_key=True)

    def __str__(self) -> str:
        return f"reset of {self.owner_id}: {self.reset}"


class SessionRouteQuerySet(models.QuerySet["SessionRoute"]):
    def visible_to(self, user: User) -> "SessionRouteQuerySet":
        return self.filter(owner=user)

    def to_check(self) -> "SessionRouteQuerySet":
        """Return the routes whose reset may be due, those that wait longest first."""
        return self.filter(check_at__lte=clock.database_now()).order_by("check_at")

    def written(self) -> int:
        """Record that their owner has written in the current conversation of these routes."""
        now = clock.database_now()
        return self.update(
            last_person_at=now, started_at=Coalesce("started_at", now), check_at=Coalesce("check_at", now)
        )

    def check_now(self) -> int:
        """Have the sweep look at these routes, because what decides about their reset has changed."""
        return self.exclude(started_at=None).update(check_at=clock.database_now())


class SessionRoute(ResetFields):
    """The current conversation of all messages with one route key.

    A writer locks the current conversation before the route. The columns about messages are of what its owner wrote in
    the current conversation, by whichever way, and empty until they have.
    """

    CHANNEL_MAX_CHARS: ClassVar[int] = 40
    ACCOUNT_MAX_CHARS: ClassVar[int] = 64
    PEER_MAX_CHARS: ClassVar[int] = 128

    # A composite foreign key (owner, session) in the migration: a route of one person cannot lead to the conversation
    # of another.
    owner = models.ForeignKey(User, on_delete=models.CASCADE, related_name="routes")
    agent = models.ForeignKey(Agent, on_delete=models.CASCADE, related_name="+")
    # The route key (chat/conversations/keys.py): percent-encoded parts have up to twelve characters for each of theirs.
    key = models.CharField(max_length=2600, unique=True)
    # Its current conversation; None after that was erased.
    session = models.OneToOneField(
        "ChatSession", on_delete=models.SET_NULL, null=True, blank=True, related_name="current_of"
    )
    # The sender of its newest message; with the scope `main` it has several.
    channel = models.CharField(max_length=CHANNEL_MAX_CHARS)
    account = models.CharField(max_length=ACCOUNT_MAX_CHARS, blank=True)
    peer = models.CharField(max_length=PEER_MAX_CHARS)
    # When its owner wrote first and last in the current conversation.
    started_at = models.DateTimeField(null=True, blank=True)
    last_person_at = models.DateTimeField(null=True, blank=True)
    # When the sweep looks next whether a reset is due: never later than it is.
    check_at = models.DateTimeField(null=True, blank=True)
    # The client_id of the last command that began a new conversation: sent again, it begins no other one.
    reset_key = models.UUIDField(null=True, blank=True)
    created_at = models.DateTimeField(default=timezone.now)

    objects: ClassVar[models.Manager["SessionRoute"]] = SessionRouteQuerySet.as_manager()

    class Meta:
        indexes = [
            models.Index(fields=["check_at"], condition=Q(check_at__isnull=False), name="routes_to_check"),
        ]

    def __str__(self) -> str:
        # Without channel and peer, which are private: the admin shows this text.
        return f"route {self.pk}"

    @property
    def label(self) -> str:
        """Return the sender of its newest message, for its owner."""
        return " · ".join(part for part in (self.channel, self.account, self.peer) if part)


class IdentityLinkQuerySet(models.QuerySet["IdentityLink"]):
    def visible_to(self, user: User) -> "IdentityLinkQuerySet":
        return self.filter(owner=user).order_by("canonical", "provider", "peer")


class IdentityLink(models.Model):
    """A peer of a channel is a person whom its owner calls `canonical`: with the scope `per-peer`, all peers of one
    name share a conversation."""

    NAME_MAX_CHARS: ClassVar[int] = 64

    owner = models.ForeignKey(User, on_delete=models.CASCADE, related_name="identity_links")
    canonical = models.CharField(_("name"), max_length=NAME_MAX_CHARS)
    # The channel.
    provider = models.CharField(_("channel"), max_length=SessionRoute.CHANNEL_MAX_CHARS)
    peer = models.CharField(max_length=SessionRoute.PEER_MAX_CHARS)
    # Whether that person is the owner themselves: only then the peer reads and writes what is private to them. None: a
    # link of an earlier release, which did not ask.
    is_owner = models.BooleanField(null=True, blank=True)
    # When the peer sent the code that its owner was shown; None: an admin has made the link.
    proven_at = models.DateTimeField(null=True, blank=True)
    # The admin who made it; None: it is proven by a code.
    by = models.ForeignKey(User, on_delete=models.SET_NULL, null=True, blank=True, related_name="+")

    objects: ClassVar[models.Manager["IdentityLink"]] = IdentityLinkQuerySet.as_manager()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["provider", "peer"], name="one_link_of_a_peer")]

    def __str__(self) -> str:
        return f"link {self.pk}"


class IdentityCode(models.Model):
    """A one-time code that a person was shown, until a peer sends it."""

    owner = models.OneToOneField(User, on_delete=models.CASCADE, related_name="identity_code", primary_key=True)
    canonical = models.CharField(max_length=IdentityLink.NAME_MAX_CHARS)
    # Whether the peer that sends it is the person themselves.
    is_owner = models.BooleanField(null=True, blank=True)
    # The keyed hash of the code, which is not stored.
    code_hash = models.CharField(max_length=64)
    expires_at = models.DateTimeField()
    # Wrong codes that were sent since.
    tries = models.PositiveSmallIntegerField(default=0)

    def __str__(self) -> str:
        return f"code of {self.owner_id}"
