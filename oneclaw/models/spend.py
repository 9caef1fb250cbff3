"""What calls of models have cost."""

import uuid
from decimal import Decimal
from typing import ClassVar

from django.contrib.postgres.fields import ArrayField
from django.contrib.postgres.indexes import BrinIndex
from django.db import models
from django.db.models.functions import Now
from django.utils.translation import gettext_lazy as _

from oneclaw.models.people import User
from oneclaw.models.spaces import Space


class SpendQuerySet(models.QuerySet["Spend"]):
    def visible_to(self, user: User) -> "SpendQuerySet":
        """Return what the person's own calls have cost."""
        return self.filter(user=user)


class Spend(models.Model):
    """One call of a model, as far as its server said what it took: written once, and never changed.

    A trigger refuses every change but one: when a person, a space or a conversation goes, its id becomes NULL.
    """

    class Purpose(models.TextChoices):
        ANSWER = "answer", _("Answers")
        SUB_SESSION = "sub_session", _("Sub-sessions")
        SCHEDULE = "schedule", _("Schedules")
        TITLE = "title", _("Titles")
        SUMMARY = "summary", _("Summaries of long conversations")
        NOTES = "notes", _("Notes of conversations")
        RECENT = "recent", _("Recent conversations")
        LAST_MESSAGES = "last_messages", _("Names of kept messages")
        CONTRADICTIONS = "contradictions", _("Comparison of saved lines")
        TOPICS = "topics", _("Topics of memory")
        EMBEDDING = "embedding", _("Vectors for search")
        TRIAL = "trial", _("Trials of model servers")

    # What is done for memory; the rest is for conversations.
    MEMORY_PURPOSES: ClassVar[tuple[Purpose, ...]] = (
        Purpose.NOTES,
        Purpose.RECENT,
        Purpose.LAST_MESSAGES,
        Purpose.CONTRADICTIONS,
        Purpose.TOPICS,
        Purpose.EMBEDDING,
    )
    # The columns of tokens, in the order of the numbers in `price`.
    TOKENS: ClassVar[tuple[str, ...]] = ("input_tokens", "output_tokens", "cached_tokens", "written_tokens")
    MODEL_MAX_CHARS: ClassVar[int] = 100
    # Decimal places of a price per million tokens; a cost has six more, so it is exact.
    PRICE_DECIMALS: ClassVar[int] = 6

    # Made with the call, so that storing it twice is storing it once.
    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    at = models.DateTimeField(db_default=Now(), editable=False)
    # For whom, and in which space and conversation; a conversation's id is kept after it is erased.
    user = models.ForeignKey(User, on_delete=models.SET_NULL, null=True, related_name="+", db_index=False)
    space = models.ForeignKey(Space, on_delete=models.SET_NULL, null=True, related_name="+", db_index=False)
    session_id = models.UUIDField(null=True)
    purpose = models.CharField(max_length=16, choices=Purpose)
    # As the server named it.
    model = models.CharField(max_length=MODEL_MAX_CHARS)
    input_tokens = models.PositiveIntegerField(default=0)
    output_tokens = models.PositiveIntegerField(default=0)
    # Of the prompt, what was read from the provider's cache and what was written into it; not in input_tokens.
    cached_tokens = models.PositiveIntegerField(default=0)
    written_tokens = models.PositiveIntegerField(default=0)
    # Whether the server said the end; a call that was stopped or cut has what it said until then.
    is_whole = models.BooleanField(default=True)
    # US dollars per million tokens read, written, read from the cache and written into it, at that time; NULL: unknown.
    price = ArrayField(models.DecimalField(max_digits=14, decimal_places=PRICE_DECIMALS), size=4, null=True)
    # US dollars; NULL without a price.
    cost = models.DecimalField(max_digits=24, decimal_places=PRICE_DECIMALS + 6, null=True)

    objects: ClassVar[models.Manager["Spend"]] = SpendQuerySet.as_manager()

    class Meta:
        verbose_name_plural = "spend"
        indexes = [
            models.Index(fields=["user", "at"], name="spend_of_person"),
            BrinIndex(fields=["at"], name="spend_at"),
        ]

    def __str__(self) -> str:
        return f"{self.purpose} by {self.model}: {self.tokens} tokens"

    @property
    def tokens(self) -> int:
        """Return all tokens of the call."""
        return sum(getattr(self, name) for name in self.TOKENS)

    def set_price(self, price: tuple[Decimal, ...] | None) -> None:
        """Set `price`, four numbers per million tokens, and what the call costs by it."""
        self.price = None if price is None else list(price)
        if price is not None:
            counts = [getattr(self, name) for name in self.TOKENS]
            self.cost = sum((count * each for count, each in zip(counts, price, strict=True)), Decimal()) / 1_000_000
