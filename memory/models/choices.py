"""Define the own space of an agent, and which parts of memory a person switched off."""

from django.db import models
from django.db.models.functions import Now

from chat.models import Agent
from oneclaw.models import Space, User


class AgentSpace(models.Model):
    """The space in which an agent with a memory of its own remembers one person."""

    space = models.OneToOneField(Space, on_delete=models.CASCADE, primary_key=True, related_name="of_agent")
    # None once the agent is deleted: the memory stays with its person.
    agent = models.ForeignKey(Agent, on_delete=models.SET_NULL, null=True, related_name="memories", db_index=False)
    # Composite foreign key (owner, space) in the migration: an agent cannot write into the space of another person.
    owner = models.ForeignKey(User, on_delete=models.CASCADE, related_name="+")

    class Meta:
        constraints = [models.UniqueConstraint(fields=["agent", "owner"], name="agent_remembers_a_person_once")]

    def __str__(self) -> str:
        return f"memory of agent {self.agent_id} for {self.owner_id}"


class SwitchChoice(models.Model):
    """A choice to turn a part of memory on or off; the newest one counts (memory/policy/switches.py).

    Earlier ones say when it was off, so that what was said then stays out of memory.
    """

    class Switch(models.TextChoices):
        # MEMORY.md, the notes of each day, and what /new and /reset keep.
        SAVED = "saved", "Saved memory"
        # MEMORY.md in the prompt of every conversation; without it, it is searched as the notes are.
        PRELOADED = "preloaded", "Preloaded memory"
        # Recent Conversations.md.
        RECENT = "recent", "Recent conversations"
        # What is recalled automatically when a conversation begins.
        RECALL = "recall", "Recall"
        # The search in past conversations, verbatim.
        TRANSCRIPTS = "transcripts", "Transcripts"
        # The questions whether lines of MEMORY.md are still true.
        REVIEWS = "reviews", "Still true?"

    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="+", db_index=False)
    switch = models.CharField(max_length=20, choices=Switch)
    on = models.BooleanField()
    at = models.DateTimeField(db_default=Now())

    class Meta:
        indexes = [models.Index(fields=["user", "switch", "-id"], name="newest_choice")]

    def __str__(self) -> str:
        return f"{self.switch} {'on' if self.on else 'off'} for {self.user_id}"
