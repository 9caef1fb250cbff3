"""Attachments: the files that people send with messages."""

import uuid
from typing import Any, ClassVar

from django.db import models
from django.db.models import Q
from django.utils import timezone

from chat.models.conversations import ChatSession, Message
from chat.models.sharing import legal_holds
from oneclaw.models import User


class AttachmentQuerySet(models.QuerySet["Attachment"]):
    def unsent(self) -> "AttachmentQuerySet":
        return self.filter(message=None)

    def not_held(self) -> "AttachmentQuerySet":
        """Return the files that no legal hold keeps."""
        return self.exclude(legal_holds.files())


class Attachment(models.Model):
    """A file that a person attached. Its bytes are stored under settings.ATTACHMENTS (chat/attachments/disk.py)."""

    class Kind(models.TextChoices):
        IMAGE = "image"
        PDF = "pdf"
        # A text of Word or OpenDocument.
        DOCX = "docx"
        SHEET = "sheet"
        SLIDES = "slides"
        TEXT = "text"

    NAME_MAX_CHARS: ClassVar[int] = 120

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    owner = models.ForeignKey(User, on_delete=models.CASCADE, related_name="attachments")
    # The session and message with which it was sent; None before that, and after that message was deleted. A file that
    # no message references is deleted after a day.
    session = models.ForeignKey(ChatSession, on_delete=models.SET_NULL, null=True, blank=True, related_name="+")
    message = models.ForeignKey(Message, on_delete=models.SET_NULL, null=True, blank=True, related_name="attachments")
    # The file name on the person's computer.
    name = models.CharField(max_length=NAME_MAX_CHARS)
    kind = models.CharField(max_length=6, choices=Kind)
    # Detected from the content.
    media_type = models.CharField(max_length=100)
    size = models.PositiveBigIntegerField()
    sha256 = models.CharField(max_length=64)
    # The extracted text, as much of it as the model is sent; "" for images.
    text = models.TextField(blank=True)
    # Pixels of an image after its EXIF orientation is applied.
    width = models.PositiveIntegerField(default=0)
    height = models.PositiveIntegerField(default=0)
    # What was chosen of an app instead of a file (chat/attachments/chosen.py): {"app", "key", "size"}. The stored bytes
    # only name it, so that its text is nowhere but where its access is checked.
    source = models.JSONField(null=True, blank=True)
    # Pages of a PDF; 0 when the file cannot be sent as it is.
    pages = models.PositiveIntegerField(default=0)
    # Media type and bytes of the smaller copy of a large image, which the model and the page get; "" and 0: no copy.
    small_type = models.CharField(max_length=100, blank=True)
    small_size = models.PositiveBigIntegerField(default=0)
    created_at = models.DateTimeField(default=timezone.now)

    objects: ClassVar[models.Manager["Attachment"]] = AttachmentQuerySet.as_manager()

    class Meta:
        indexes = [
            models.Index(fields=["created_at"], condition=Q(message=None), name="attachment_unsent"),
        ]

    def __str__(self) -> str:
        # Without the file name, which is private.
        return f"attachment {self.pk}"

    def reference(self) -> dict[str, Any]:
        """Return the block that references this file in Message.content: what a page shows of it, no content."""
        names = (
            ("name", "kind", "size", "width", "height") if self.kind == self.Kind.IMAGE else ("name", "kind", "size")
        )
        block = {"type": "attachment", "id": str(self.pk)} | {name: getattr(self, name) for name in names}
        return block | {"size": self.source["size"], "chosen": True} if self.source else block


class MessageFile(models.Model):
    """A reference from a message to a file, derived from the message's content. After an edit or a fork several
    messages reference one file. Written by a database trigger (migration 0001), so that an index finds
    the messages of a file."""

    message = models.ForeignKey(Message, on_delete=models.CASCADE, related_name="file_names", db_index=False)
    # Without a constraint, so that sending a message does not wait for the deletion of another file.
    attachment = models.ForeignKey(Attachment, on_delete=models.CASCADE, related_name="names", db_constraint=False)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["message", "attachment"], name="one_name_per_file")]

    def __str__(self) -> str:
        return f"attachment {self.attachment_id} in message {self.message_id}"
