"""What a model on a server can do, as the server described it or refused it."""

from typing import ClassVar

from django.db import models


class ModelFacts(models.Model):
    """One model on one server. Empty columns mean that the server did not say: oneclaw/llm/facts.py fills them in."""

    SERVER_CHARS: ClassVar[int] = 32

    # A hash of the server's address.
    server = models.CharField(max_length=SERVER_CHARS)
    model = models.CharField(max_length=200)
    # Tokens of the context window, and the most that one answer may have.
    window = models.PositiveIntegerField(null=True, blank=True)
    max_output = models.PositiveIntegerField(null=True, blank=True)
    chars_per_token = models.FloatField(null=True, blank=True)
    # Whether the server checks that nothing before the model's thinking has changed.
    preserved_thinking = models.BooleanField(null=True, blank=True)
    # The accepted types of thinking, and levels of effort.
    thinking = models.JSONField(null=True, blank=True)
    efforts = models.JSONField(null=True, blank=True)
    # Whether it summarises a conversation on demand, and counts tokens.
    compacts = models.BooleanField(null=True, blank=True)
    counts = models.BooleanField(null=True, blank=True)
    # Whether it cites search results by itself.
    cites = models.BooleanField(null=True, blank=True)
    # What the server refused, and when: {"effort": "2026-11-22T17:00:00+00:00", "max_output=8192": …}.
    learnt = models.JSONField(default=dict, blank=True)
    # When the server was last asked to describe the model; empty: never.
    seen_at = models.DateTimeField(null=True, blank=True)

    objects: ClassVar[models.Manager["ModelFacts"]] = models.Manager()

    class Meta:
        verbose_name_plural = "model facts"
        constraints = [models.UniqueConstraint(fields=["server", "model"], name="facts_of_a_model_once")]

    def __str__(self) -> str:
        return f"{self.model} on {self.server[:8]}"
