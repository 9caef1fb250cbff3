"""The queue of a shared conversation: messages that wait for the end of the answer that is running."""

from django.db import models
from django.db.models.functions import Now

from chat.models.conversations import ChatSession
from oneclaw.models import User


class QueuedMessage(models.Model):
    """A member's message that is sent when the answers before it have ended. Deleted then, or when it is taken back."""

    session = models.ForeignKey(ChatSession, on_delete=models.CASCADE, related_name="queue", db_index=False)
    author = models.ForeignKey(User, on_delete=models.CASCADE, related_name="+")
    # Of the message that it becomes.
    client_id = models.UUIDField()
    text = models.TextField(blank=True)
    # What of it was pasted (chat/conversations/pasted.py).
    pasted = models.JSONField(null=True, blank=True)
    # The ids of its files.
    files = models.JSONField(default=list)
    # The model and the effort that the author chose for it; None keeps those of the conversation.
    model = models.CharField(max_length=100, null=True, blank=True)
    effort = models.CharField(max_length=100, null=True, blank=True)
    # Likewise which memory the conversation reads from then on.
    memory = models.CharField(max_length=100, null=True, blank=True)
    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        ordering = ["pk"]
        constraints = [models.UniqueConstraint(fields=["session", "client_id"], name="queued_once_per_client_id")]

    def __str__(self) -> str:
        return f"queued message {self.pk} of {self.session_id}"
