"""Define the suggestions: texts for memory that did not come from the person, and wait for a yes."""

from typing import ClassVar

from django.db import models
from django.db.models import Q
from django.db.models.functions import Now
from django.utils.translation import gettext_lazy as _

from chat.models import ChatSession, Message
from memory.models.documents import MemoryRevision
from oneclaw.models import Space, SpaceMember, User
from oneclaw.reasons import Reason


class SuggestionQuerySet(models.QuerySet["Suggestion"]):
    def visible_to(self, user: User) -> "SuggestionQuerySet":
        """Return the suggestions for the spaces of `user`."""
        return self.filter(space__roles__user=user)

    def writable_by(self, user: User) -> "SuggestionQuerySet":
        """Return the suggestions that `user` may answer, who may write in their spaces: where a second person approves
        what becomes curated memory, only an owner answers alone."""
        mine = self.filter(space__roles__user=user, space__roles__role__in=SpaceMember.WRITERS)
        is_guarded = Q(space__needs_second_person=True, path__in=("MEMORY.md", "memory.md", "AGENTS.md"))
        return mine.exclude(is_guarded & ~Q(space__in=Space.objects.owned_by(user)))

    def waiting(self) -> "SuggestionQuerySet":
        """Return the suggestions without an answer."""
        return self.filter(status=Suggestion.Status.WAITING)


class Suggestion(models.Model):
    """A text that waits for the person's yes before it becomes memory, or before a workspace file is used.

    Nothing searches it, recalls it or sends it to a model. With the answer the text is removed: an accepted one is in
    the document, and of a declined one the keyed hash is kept, so that it does not come again.
    """

    class Kind(models.TextChoices):
        """The source of the text."""

        ATTACHMENT = "attachment", _("attached file")
        PASTED = "pasted", _("pasted text")
        TOOL = "tool", _("result of a tool")
        IMPORTED = "imported", _("imported conversation")
        RECALLED = "recalled", _("recalled memory")
        FOUND = "found", _("another conversation")
        # A message that the model of another conversation sent, or the result of a sub-session.
        SESSION = "session", _("message of another conversation")
        # Words, files or memory of another member of a space, or of a sender behind a bridge.
        PEOPLE = "people", _("words of another person")
        # What a program has saved, with a key or through /mcp.
        PROGRAM = "program", _("program")
        WORKSPACE = "workspace", _("workspace file")
        SUMMARY = "summary", _("summary")
        # A workspace file that was imported: what in it instructs the assistant.
        INSTRUCTIONS = "instructions", _("imported instructions")

    class Status(models.TextChoices):
        WAITING = "waiting"
        ACCEPTED = "accepted"
        DECLINED = "declined"

    NAME_MAX_CHARS: ClassVar[int] = 200

    space = models.ForeignKey(Space, on_delete=models.CASCADE, related_name="suggestions", db_index=False)
    # The document that it is for.
    path = models.CharField(max_length=255)
    text = models.TextField(blank=True)
    # The keyed hash of its words in the space (memory/policy/tombstones.py).
    text_hash = models.CharField(max_length=64)
    kind = models.CharField(max_length=20, choices=Kind)
    # The name of the source: of a file, a tool, a conversation, or the path of a document.
    name = models.CharField(max_length=NAME_MAX_CHARS, blank=True)
    # The conversation and the answer in which the model wanted to save it.
    session = models.ForeignKey(ChatSession, on_delete=models.SET_NULL, null=True, blank=True, related_name="+")
    message = models.ForeignKey(Message, on_delete=models.SET_NULL, null=True, blank=True, related_name="+")
    status = models.CharField(max_length=10, choices=Status, default=Status.WAITING)
    # The change that wrote an accepted text.
    revision = models.ForeignKey(MemoryRevision, on_delete=models.SET_NULL, null=True, blank=True, related_name="+")
    # By the database's clock (oneclaw/models/clock.py).
    created_at = models.DateTimeField(db_default=Now())
    decided_at = models.DateTimeField(null=True, blank=True)

    objects: ClassVar[models.Manager["Suggestion"]] = SuggestionQuerySet.as_manager()

    class Meta:
        indexes = [models.Index(fields=["space"], condition=Q(status="waiting"), name="suggestions_waiting")]
        constraints = [
            models.UniqueConstraint(fields=["space", "path", "text_hash"], name="suggested_once"),
            models.CheckConstraint(
                condition=Q(status="waiting", decided_at=None) & ~Q(text="")
                | ~Q(status="waiting") & Q(decided_at__isnull=False, text=""),
                name="suggestion_waits_with_its_text",
            ),
        ]

    def __str__(self) -> str:
        # Without its text and the name of its source, which are private: the admin shows this text.
        return f"suggestion {self.pk}: {self.status}"

    @property
    def origin(self) -> Reason:
        """Return the sentence about where the text came from."""
        return Reason("memory.waits", {"kind": self.kind, "name": self.name})

    @property
    def is_waiting(self) -> bool:
        """Return whether the person has not answered yet."""
        return self.status == self.Status.WAITING
