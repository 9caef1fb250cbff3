"""Who answers."""

from typing import ClassVar

from django.conf import settings
from django.db import models
from django.db.models import F, Q

from oneclaw.models import User


class AgentQuerySet(models.QuerySet["Agent"]):
    def visible_to(self, user: User) -> "AgentQuerySet":
        """Whom the person may begin a conversation with: the server's agents and their own, the default first."""
        visible = self.filter(Q(owner=None) | Q(owner=user), deleted_at=None)
        return visible.order_by("-is_default", F("owner").asc(nulls_first=True), "name", "pk")

    def own_of(self, user: User) -> "AgentQuerySet":
        return self.filter(owner=user, deleted_at=None).order_by("name", "pk")


class Agent(models.Model):
    """Who answers: a name, instructions, a model, tools, and whose memory."""

    LONGEST_NAME: ClassVar[int] = 80

    slug = models.SlugField(max_length=60, unique=True)
    # Whose it is, and nobody else's; None: the server's, made by admins for everybody.
    owner = models.ForeignKey(User, on_delete=models.CASCADE, null=True, blank=True, related_name="agents")
    name = models.CharField(max_length=80)
    # What the model is told before everything else; plain text.
    instructions = models.TextField(blank=True)
    # Empty: the server's ONECLAW_MODEL.
    model = models.CharField(max_length=100, blank=True)
    # Names of the tools that it may not use; a tool that an app brings later is on.
    tools_off = models.JSONField(default=list, blank=True)
    # Whether it remembers apart from the person's own memory, and reads nothing of that. Never changed: what was
    # remembered would seem lost.
    own_memory = models.BooleanField(default=False)
    # Answers in every new conversation unless somebody chooses another.
    is_default = models.BooleanField(default=False)
    created_at = models.DateTimeField(auto_now_add=True)
    # Offered no more; the row stays for the conversations that it answered.
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
        # Without the name of one that is somebody's own: the admin shows this.
        return self.name if self.owner_id is None else f"own agent {self.pk}"


def default_agent() -> Agent:
    """The one default agent, made on first use."""
    agent, _ = Agent.objects.get_or_create(
        is_default=True, defaults={"slug": "oneclaw", "name": settings.DEFAULT_AGENT_NAME}
    )
    return agent
