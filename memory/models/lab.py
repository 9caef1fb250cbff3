"""Define what the recall lab keeps: questions whose right line is known, and how many of them each run found."""

from django.db import models
from django.utils import timezone

from oneclaw.models import Space


class GoldenQuestion(models.Model):
    """A question and the text of the line that a search must find for it."""

    space = models.ForeignKey(Space, on_delete=models.CASCADE, related_name="golden_questions", db_index=False)
    question = models.CharField(max_length=1000)
    # The line as it was shown, without the marks of Markdown.
    expected = models.TextField()
    # SHA-256 of both, so that each is kept once.
    key = models.CharField(max_length=64)
    # Whether a search must rather find something else first: the person said that the line is no good answer.
    is_unwanted = models.BooleanField(default=False)
    # Whether it was made of feedback, and leaves with it.
    is_from_feedback = models.BooleanField(default=False)
    # Its rank in the newest run, from 1; None: it was not found, or not asked yet.
    rank = models.PositiveSmallIntegerField(null=True, blank=True)
    created_at = models.DateTimeField(default=timezone.now)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["space", "key"], name="golden_question_once")]

    def __str__(self) -> str:
        return f"golden question {self.pk} of space {self.space_id}"

    @property
    def is_met(self) -> bool:
        """Return whether the newest run found the line or, if it is unwanted, did not find it first."""
        return self.rank != 1 if self.is_unwanted else self.rank is not None


class LabRun(models.Model):
    """One run of all golden questions of a space: how many found their line."""

    space = models.ForeignKey(Space, on_delete=models.CASCADE, related_name="lab_runs", db_index=False)
    created_at = models.DateTimeField(default=timezone.now)
    found = models.PositiveIntegerField()
    total = models.PositiveIntegerField()
    # What the search depends on: model, settings and layout of the index (memory/lab/golden.py).
    setup = models.CharField(max_length=400)

    class Meta:
        indexes = [models.Index(fields=["space", "-id"], name="lab_runs_of_space")]

    def __str__(self) -> str:
        return f"lab run {self.pk} of space {self.space_id}: {self.found} of {self.total}"

    @property
    def share(self) -> float:
        """Return the share of the questions that found their line, from 0 to 1."""
        return self.found / self.total if self.total else 1.0
