"""The ratings of answers: good or bad, with an optional reason."""

from typing import Any, ClassVar

from django.db import models
from django.db.models import Case, Count, F, Q, Value, When
from django.db.models.functions import Now, TruncDate

from chat.models.agents import Agent
from chat.models.conversations import Message


class RatingQuerySet(models.QuerySet["Rating"]):
    def counts(self) -> models.QuerySet["Rating", Any]:
        """Return how many answers were rated good and bad by day, agent and model, the newest day first.

        Agents that people made for themselves have no name here.
        """
        name = Case(When(agent__owner=None, then=F("agent__name")), default=Value(""))
        by = self.annotate(day=TruncDate("created_at"), agent_name=name).values("day", "agent_name", "model")
        counted = by.annotate(good=Count("pk", filter=Q(is_good=True)), bad=Count("pk", filter=Q(is_good=False)))
        return counted.order_by("-day", "agent_name", "model")


class Rating(models.Model):
    """What the owner of a conversation thinks of an answer in it."""

    REASON_MAX_CHARS: ClassVar[int] = 1000

    message = models.OneToOneField(Message, on_delete=models.CASCADE, primary_key=True, related_name="rating")
    agent = models.ForeignKey(Agent, on_delete=models.CASCADE, related_name="+")
    model = models.CharField(max_length=100, blank=True)
    is_good = models.BooleanField()
    # For the person themselves; no admin is shown it.
    reason = models.CharField(max_length=REASON_MAX_CHARS, blank=True)
    created_at = models.DateTimeField(db_default=Now())

    objects: ClassVar[models.Manager["Rating"]] = RatingQuerySet.as_manager()

    def __str__(self) -> str:
        return f"rating of message {self.message_id}: {'good' if self.is_good else 'bad'}"
