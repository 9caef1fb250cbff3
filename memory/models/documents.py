"""Define documents, their revisions, and uploads that wait to be imported."""

import hashlib
import uuid
from typing import ClassVar

from django.db import models
from django.db.models import F, Q
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from chat.models import Message
from memory.text.index_format import LAYOUT_VERSION
from oneclaw.models import Space, User
from oneclaw.reasons import ReasonField


def content_hash(text: str) -> str:
    """Return the SHA-256 of `text` in UTF-8, in hexadecimal."""
    return hashlib.sha256(text.encode()).hexdigest()


class MemoryDocumentQuerySet(models.QuerySet["MemoryDocument"]):
    def visible_to(self, user: User) -> "MemoryDocumentQuerySet":
        """Return the documents in the spaces of `user`."""
        return self.filter(space__roles__user=user)

    def present(self) -> "MemoryDocumentQuerySet":
        """Return the documents that are not deleted."""
        return self.filter(deleted_at=None)

    def to_mirror(self) -> "MemoryDocumentQuerySet":
        """Return the documents whose file is not of the current version."""
        return self.filter(mirrored_version__lt=F("version"))

    def first_ids(self, limit: int) -> list[int]:
        """Return the ids of the oldest `limit` documents."""
        return list(self.order_by("pk").values_list("pk", flat=True)[:limit])

    def to_index(self) -> "MemoryDocumentQuerySet":
        """Return the documents whose index is of another version, or of another layout than search reads."""
        behind = MemoryDocument.objects.filter(indexed_version__lt=F("version")).values("pk")
        other = MemoryDocument.objects.filter(
            Q(index__layout__lt=LAYOUT_VERSION) | Q(index__layout__gt=LAYOUT_VERSION)
        ).values("pk")
        # A union, because each half has its own index; OR would read every document.
        return self.filter(pk__in=behind.union(other))


class MemoryDocument(models.Model):
    """A Markdown file of a space. Its content is the result of applying its revisions."""

    space = models.ForeignKey(Space, on_delete=models.CASCADE, related_name="documents", db_index=False)
    # Relative to the space's folder: MEMORY.md, memory/2026-11-21.md, Recent Conversations.md.
    path = models.CharField(max_length=255)
    content = models.TextField(blank=True)
    content_hash = models.CharField(max_length=64, default=content_hash(""), editable=False)
    # The number of its newest revision; 0 before the first.
    version = models.PositiveIntegerField(default=0)
    # The versions of the file on disk and of the search index. A value below `version` is work to do.
    mirrored_version = models.PositiveIntegerField(default=0)
    indexed_version = models.PositiveIntegerField(default=0)
    created_at = models.DateTimeField(auto_now_add=True)
    updated_at = models.DateTimeField(default=timezone.now)
    # A deleted document keeps its revisions, so that it can be restored.
    deleted_at = models.DateTimeField(null=True, blank=True)

    objects: ClassVar[models.Manager["MemoryDocument"]] = MemoryDocumentQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["space", "path"], name="document_path_once"),
            # The target of composite foreign keys: a row of one space cannot reference a document of
            # another.
            models.UniqueConstraint(fields=["space", "id"], name="document_of_space"),
        ]
        indexes = [
            models.Index(fields=["id"], condition=Q(mirrored_version__lt=F("version")), name="documents_to_mirror"),
            models.Index(fields=["id"], condition=Q(indexed_version__lt=F("version")), name="documents_to_index"),
        ]

    def __str__(self) -> str:
        return self.path

    @property
    def is_deleted(self) -> bool:
        """Return whether the document is deleted; it can be restored."""
        return self.deleted_at is not None


class MemoryRevision(models.Model):
    """A change of a document: who made it, how, from which message, and what changed.

    The database rejects updates; only a Forgetting may remove lines from a revision, in its own transaction.
    """

    class Kind(models.TextChoices):
        APPEND = "append"
        REPLACE = "replace"
        DELETE = "delete"

    class Source(models.TextChoices):
        TOOL = "tool", _("assistant")
        FLUSH = "flush", _("conversation notes")
        PAGE = "page", _("memory page")
        ADMIN = "admin", _("admin")
        FILE = "file", _("file in the folder")
        API = "api", _("API")
        UNDO = "undo", _("undo")
        IMPORT = "import", _("import")
        FORGET = "forget", _("forgetting")
        PROPOSAL = "proposal", _("proposal")

    # Composite foreign key (space, document) in the migration: a revision cannot point into another space.
    space = models.ForeignKey(Space, on_delete=models.CASCADE, related_name="+")
    document = models.ForeignKey(MemoryDocument, on_delete=models.CASCADE, related_name="revisions", db_index=False)
    # 1, 2, 3 … without a gap; the version of the document after this change.
    number = models.PositiveIntegerField()
    kind = models.CharField(max_length=10, choices=Kind)
    source = models.CharField(max_length=10, choices=Source)
    author = models.ForeignKey(User, on_delete=models.SET_NULL, null=True, blank=True, related_name="+")
    # The second person who approved it, if it was proposed.
    approved_by = models.ForeignKey(
        User, on_delete=models.SET_NULL, null=True, blank=True, related_name="+", db_index=False
    )
    message = models.ForeignKey(Message, on_delete=models.SET_NULL, null=True, blank=True, related_name="+")
    # The reason, as the person is shown it.
    reason = ReasonField()
    # What changed, as hunks over content.split("\n"), by descending line, applied in order:
    # [{"at": 0-based line, "removed": [lines], "added": [lines]}]
    hunks = models.JSONField(default=list)
    content_hash = models.CharField(max_length=64)
    # Whether the added lines were made from foreign text, such as a file that was read in a conversation: then they are
    # not the person's own words. None: by a release that did not record it.
    is_foreign = models.BooleanField(null=True, blank=True)
    # The idempotency key of an operation, such as a tool call or a flush. Unique within the space.
    operation_key = models.CharField(max_length=120, null=True, blank=True)
    created_at = models.DateTimeField(default=timezone.now)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["document", "number"], name="revision_number_once"),
            models.UniqueConstraint(
                fields=["space", "operation_key"],
                condition=Q(operation_key__isnull=False),
                name="operation_happens_once",
            ),
        ]
        indexes = [
            models.Index(fields=["approved_by"], condition=Q(approved_by__isnull=False), name="revisions_approved_by")
        ]

    def __str__(self) -> str:
        return f"{self.document} version {self.number}"


class Upload(models.Model):
    """An upload to import that its person has not confirmed yet. One per person; the sweep deletes old ones."""

    owner = models.OneToOneField(User, on_delete=models.CASCADE, related_name="+")
    # New with each upload, so that an outdated page cannot confirm it.
    token = models.UUIDField(default=uuid.uuid4)
    name = models.CharField(max_length=200)
    data = models.BinaryField()
    created_at = models.DateTimeField(default=timezone.now)

    def __str__(self) -> str:
        return f"upload of {self.owner}"
