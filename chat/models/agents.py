"""The agents that answer conversations."""

from typing import ClassVar

from django.conf import settings
from django.db import models
from django.db.models import F, Q
from django.utils.translation import gettext_lazy, pgettext_lazy

from oneclaw.models import User


class Effort(models.TextChoices):
    """How much a model thinks and writes, in rising order; empty: as little or much as is usual for it."""

    LOW = "low", pgettext_lazy("effort", "Low")
    MEDIUM = "medium", pgettext_lazy("effort", "Medium")
    HIGH = "high", pgettext_lazy("effort", "High")
    XHIGH = "xhigh", pgettext_lazy("effort", "Very high")
    MAX = "max", pgettext_lazy("effort", "Maximum")

    __empty__ = gettext_lazy("Auto")


class MemoryChoice(models.TextChoices):
    """Which memory a conversation reads: its owner's and that of its space, one of them, or none."""

    ALL = "all"
    OWN = "own"
    SPACE = "space"
    NONE = "none"


class DmScope(models.TextChoices):
    """Which messages from outside share one conversation; the values are those of keys.RouteScope."""

    MAIN = "main", gettext_lazy("All messages")
    PER_PEER = "per-peer", gettext_lazy("Those of one peer, on all channels")
    PER_CHANNEL_PEER = "per-channel-peer", gettext_lazy("Those of one peer on one channel")
    PER_ACCOUNT_CHANNEL_PEER = "per-account-channel-peer", gettext_lazy("Those of one peer on one channel and account")

    __empty__ = gettext_lazy("The server's default")


class AgentQuerySet(models.QuerySet["Agent"]):
    def visible_to(self, user: User) -> "AgentQuerySet":
        """Return the agents that `user` may choose: the server's and their own, the default first."""
        visible = self.filter(Q(owner=None) | Q(owner=user), deleted_at=None)
        return visible.order_by("-is_default", F("owner").asc(nulls_first=True), "name", "pk")

    def own_of(self, user: User) -> "AgentQuerySet":
        return self.filter(owner=user, deleted_at=None).order_by("name", "pk")


class Agent(models.Model):
    """A named configuration of the assistant: instructions, model, tools, and whose memory it uses."""

    NAME_MAX_CHARS: ClassVar[int] = 80

    slug = models.SlugField(max_length=60, unique=True)
    # The only person who may use it; None: the server's, made by admins for everyone.
    owner = models.ForeignKey(User, on_delete=models.CASCADE, null=True, blank=True, related_name="agents")
    name = models.CharField(max_length=NAME_MAX_CHARS)
    # The first part of the system prompt; plain text.
    instructions = models.TextField(blank=True)
    # Empty: the server's ONECLAW_MODEL.
    model = models.CharField(max_length=100, blank=True)
    # Empty: the server's ONECLAW_EFFORT.
    effort = models.CharField(max_length=6, choices=Effort, blank=True)
    # Which messages from outside share one of its conversations (chat/conversations/keys.py); empty: the server's
    # ONECLAW_DM_SCOPE.
    dm_scope = models.CharField(max_length=24, choices=DmScope, blank=True)
    # Names of the tools that it may not use, so that a tool added later is on.
    tools_off = models.JSONField(default=list, blank=True)
    # Names of the tools that it may use although they are off unless they are chosen (Tool.is_optional); None: as
    # empty.
    tools_on = models.JSONField(null=True, blank=True)
    # Whether it has a memory of its own and does not read the person's. Never changed: earlier memories would seem
    # lost.
    own_memory = models.BooleanField(default=False)
    # Answers in every new conversation unless the person chooses another agent.
    is_default = models.BooleanField(default=False)
    created_at = models.DateTimeField(auto_now_add=True)
    # Not offered any more; the row stays for the conversations that it answered.
    deleted_at = models.DateTimeField(null=True, blank=True)

    objects: ClassVar[models.Manager["Agent"]] = AgentQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["is_default"], condition=Q(is_default=True), name="one_default_agent"),
            models.CheckConstraint(
                condition=Q(is_default=False) | Q(owner=None, deleted_at=None), name="default_agent_is_the_servers"
            ),
        ]

    def __str__(self) -> str:
        # Without the name of a person's own agent, because the admin shows this text.
        return self.name if self.owner_id is None else f"own agent {self.pk}"


def default_agent() -> Agent:
    """Return the default agent, which is created on first use."""
    agent, _ = Agent.objects.get_or_create(
        is_default=True, defaults={"slug": "oneclaw", "name": settings.DEFAULT_AGENT_NAME}
    )
    return agent
