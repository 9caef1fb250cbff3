"""What programs have read of memory and saved there: the receipts that their person sees."""

from typing import ClassVar

from django.db import models
from django.db.models import F, Q
from django.db.models.functions import Now

from memory.models.documents import MemoryDocument, MemoryRevision
from memory.models.proposals import Proposal
from memory.models.suggestions import Suggestion
from oneclaw.models import ApiKey, User


class ProgramReadQuerySet(models.QuerySet["ProgramRead"]):
    def visible_to(self, user: User) -> "ProgramReadQuerySet":
        """Return what the programs of `user` have read."""
        return self.filter(key__user=user)


class ProgramRead(models.Model):
    """A line of memory that a program was sent. Its text is not stored: the line is recognised by the keyed hash of its
    words, as a forgotten one is (memory/policy/tombstones.py)."""

    key = models.ForeignKey(ApiKey, on_delete=models.CASCADE, related_name="+", db_index=False)
    document = models.ForeignKey(MemoryDocument, on_delete=models.CASCADE, related_name="+", db_index=False)
    line_hash = models.CharField(max_length=64)
    times = models.PositiveIntegerField(default=1, db_default=1)
    # By the database's clock (oneclaw/models/clock.py).
    first_at = models.DateTimeField(db_default=Now())
    last_at = models.DateTimeField(db_default=Now())

    objects: ClassVar[models.Manager["ProgramRead"]] = ProgramReadQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["key", "document", "line_hash"], name="line_read_once_by_program")
        ]
        indexes = [
            models.Index(fields=["document", "line_hash"], name="readers_of_line"),
            models.Index(F("key"), F("last_at").desc(), name="read_lately_by_program"),
        ]

    def __str__(self) -> str:
        return f"a line of document {self.document_id}, read with key {self.key_id}"


class ProgramSaveQuerySet(models.QuerySet["ProgramSave"]):
    def visible_to(self, user: User) -> "ProgramSaveQuerySet":
        """Return what the programs of `user` have saved."""
        return self.filter(key__user=user)


class ProgramSave(models.Model):
    """A text that a program has saved: the suggestion, the proposal, or the change that it became. None of them, once
    that is gone."""

    REQUEST_ID_MAX_CHARS: ClassVar[int] = 100

    key = models.ForeignKey(ApiKey, on_delete=models.CASCADE, related_name="+", db_index=False)
    # By which the program sends the same request again without saving twice; "": it has none.
    request_id = models.CharField(max_length=REQUEST_ID_MAX_CHARS, blank=True)
    # The keyed hash of the words, in the space.
    text_hash = models.CharField(max_length=64)
    suggestion = models.ForeignKey(Suggestion, on_delete=models.SET_NULL, null=True, blank=True, related_name="+")
    proposal = models.ForeignKey(Proposal, on_delete=models.SET_NULL, null=True, blank=True, related_name="+")
    revision = models.ForeignKey(MemoryRevision, on_delete=models.SET_NULL, null=True, blank=True, related_name="+")
    created_at = models.DateTimeField(db_default=Now())

    objects: ClassVar[models.Manager["ProgramSave"]] = ProgramSaveQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["key", "request_id"], condition=~Q(request_id=""), name="program_request_saved_once"
            )
        ]
        indexes = [models.Index(F("key"), F("created_at").desc(), name="saved_lately_by_program")]

    def __str__(self) -> str:
        return f"a text saved with key {self.key_id}"
