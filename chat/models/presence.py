"""The presence of people: where they are, and since when."""

from django.db import models
from django.db.models import Q
from django.utils import timezone

from chat.models.conversations import ChatSession
from oneclaw.models import User


class Presence(models.Model):
    """The session that a person last had open, and on which day of theirs."""

    user = models.OneToOneField(User, on_delete=models.CASCADE, related_name="presence")
    # The session open in the last socket that opened one.
    session = models.ForeignKey(ChatSession, on_delete=models.SET_NULL, null=True, blank=True, related_name="+")
    # The person's local date when they were last here; None before the first visit.
    day = models.DateField(null=True, blank=True)
    # Renewed while they have an open socket in any process.
    seen_at = models.DateTimeField(default=timezone.now)
    # Whether they are present; cleared by the one update that also sends user_left.
    here = models.BooleanField(default=False)

    class Meta:
        indexes = [models.Index(fields=["seen_at"], condition=Q(here=True), name="presence_here")]

    def __str__(self) -> str:
        return f"{self.user} last seen {self.seen_at:%Y-%m-%d %H:%M}"
