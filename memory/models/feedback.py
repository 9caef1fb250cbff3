"""Define what a person says about lines that memory has found."""

from typing import ClassVar

from django.db import models
from django.db.models import Exists, OuterRef
from django.db.models.functions import Now
from django.utils.translation import gettext_lazy as _

from memory.models.index import MemoryChunk, TranscriptChunk
from memory.models.lab import GoldenQuestion
from memory.models.library import FileChunk
from oneclaw.models import Space, User


class LineFeedbackQuerySet(models.QuerySet["LineFeedback"]):
    def of_removed_lines(self, space: Space) -> "LineFeedbackQuerySet":
        """Return the feedback on lines that `space` does not have any more, neither in memory nor in a document of its
        library."""
        key = OuterRef("text_key")
        noted = MemoryChunk.objects.filter(space=space, text_key=key)
        said = TranscriptChunk.objects.filter(index__space=space, text_key=key)
        filed = FileChunk.objects.filter(space=space, text_key=key)
        return self.filter(~Exists(noted), ~Exists(said), ~Exists(filed), space=space)


class LineFeedback(models.Model):
    """What one person has said about a line. It holds no text: the line and the question are found by their hashes."""

    class Kind(models.IntegerChoices):
        WRONG = 1, _("Wrong")
        OUTDATED = 2, _("Outdated")
        IRRELEVANT = 3, _("Not relevant")
        HELPFUL = 4, _("Helpful")

    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="+", db_index=False)
    space = models.ForeignKey(Space, on_delete=models.CASCADE, related_name="+")
    # The text key of the line's chunk (memory/text/index_format.py).
    text_key = models.BigIntegerField()
    kind = models.PositiveSmallIntegerField(choices=Kind)
    # The terms of the question for which the line was found, as packed numbers (memory/search/opinions.py).
    question_terms = models.BinaryField(default=bytes)
    # The golden question that it became.
    golden = models.ForeignKey(
        GoldenQuestion, on_delete=models.SET_NULL, null=True, blank=True, related_name="feedback"
    )
    created_at = models.DateTimeField(db_default=Now())

    objects: ClassVar[models.Manager["LineFeedback"]] = LineFeedbackQuerySet.as_manager()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["user", "space", "text_key"], name="one_opinion_on_a_line")]

    def __str__(self) -> str:
        return f"feedback {self.pk} of user {self.user_id}: {self.Kind(self.kind).name.lower()}"
