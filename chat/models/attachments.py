"""The files that belong to messages."""

import uuid
from typing import Any, ClassVar

from django.db import models
from django.db.models import Q
from django.utils import timezone

from chat.models.conversations import ChatSession, Message
from oneclaw.models import User


class AttachmentQuerySet(models.QuerySet["Attachment"]):
    def unsent(self) -> "AttachmentQuerySet":
        return self.filter(message=None)


class Attachment(models.Model):
    """A file that a person attached. Its bytes lie under settings.ATTACHMENTS (chat/attachments/disk.py)."""

    class Kind(models.TextChoices):
        IMAGE = "image"
        PDF = "pdf"
        DOCX = "docx"
        TEXT = "text"

    LONGEST_NAME: ClassVar[int] = 120

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    owner = models.ForeignKey(User, on_delete=models.CASCADE, related_name="attachments")
    # Of the message with which it was sent; None before that, and once that message is gone. A file that no message
    # names goes after a day.
    session = models.ForeignKey(ChatSession, on_delete=models.SET_NULL, null=True, blank=True, related_name="+")
    message = models.ForeignKey(Message, on_delete=models.SET_NULL, null=True, blank=True, related_name="attachments")
    # As the person's computer calls it.
    name = models.CharField(max_length=LONGEST_NAME)
    kind = models.CharField(max_length=5, choices=Kind)
    # By its content.
    media_type = models.CharField(max_length=100)
    size = models.PositiveBigIntegerField()
    sha256 = models.CharField(max_length=64)
    # What it says, as far as the model is told; "" for images.
    text = models.TextField(blank=True)
    # Of an image, as it is to be seen.
    width = models.PositiveIntegerField(default=0)
    height = models.PositiveIntegerField(default=0)
    # Of a PDF; 0 when it cannot be sent as it is.
    pages = models.PositiveIntegerField(default=0)
    # Of the smaller copy of a large image, which the model and the page are shown; "" and 0 when there is none.
    small_type = models.CharField(max_length=100, blank=True)
    small_size = models.PositiveBigIntegerField(default=0)
    created_at = models.DateTimeField(default=timezone.now)

    objects: ClassVar[models.Manager["Attachment"]] = AttachmentQuerySet.as_manager()

    class Meta:
        indexes = [
            models.Index(fields=["created_at"], condition=Q(message=None), name="attachment_unsent"),
        ]

    def __str__(self) -> str:
        # Without its name, which is the person's own.
        return f"attachment {self.pk}"

    def reference(self) -> dict[str, Any]:
        """How Message.content names it: all that a page shows of it, and no content."""
        names = (
            ("name", "kind", "size", "width", "height") if self.kind == self.Kind.IMAGE else ("name", "kind", "size")
        )
        return {"type": "attachment", "id": str(self.pk)} | {name: getattr(self, name) for name in names}


class MessageFile(models.Model):
    """That a message names a file, as its content says: several do after an edit or a fork. Written by a trigger of the
    database (migration 0012_message_files), so that the messages of a file are found by an index."""

    message = models.ForeignKey(Message, on_delete=models.CASCADE, related_name="file_names", db_index=False)
    # Without a constraint: whoever sends a message does not wait for somebody who removes another file.
    attachment = models.ForeignKey(Attachment, on_delete=models.CASCADE, related_name="names", db_constraint=False)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["message", "attachment"], name="one_name_per_file")]

    def __str__(self) -> str:
        return f"attachment {self.attachment_id} in message {self.message_id}"
