"""The head of a conversation's requests: system text and tool definitions, frozen."""

from django.db import models
from django.db.models.functions import Now

# Between two sections of the system text.
SECTION_BREAK = "\n\n"


class Head(models.Model):
    """The part before the messages of every request of a conversation, as it is sent.

    A head is never changed: what a release or a new memory adds is for the heads of other conversations. What must
    leave gets the conversation a new one (chat/context/heads.py).
    """

    class Reason(models.TextChoices):
        FIRST = "first", "the conversation began"
        SWITCHED = "switched", "a switch or a tool was turned on or off"
        FORGOTTEN = "forgotten", "a line of it was forgotten"

    session = models.ForeignKey("ChatSession", on_delete=models.CASCADE, related_name="heads", db_index=False)
    # 1, 2, 3 … in the conversation.
    number = models.PositiveIntegerField(default=1)
    reason = models.CharField(max_length=10, choices=Reason, default=Reason.FIRST)
    system = models.TextField()
    # [name, characters] of each section of the system text, in order; empty in a head from before they were recorded.
    sections = models.JSONField(default=list, blank=True)
    # In the API's form. None in a head from before tools were frozen, until its next request.
    tools = models.JSONField(null=True, blank=True)
    # What the system text quotes from documents: {name of the extension: [chat.extensions.ContextItem, …]}.
    context = models.JSONField(default=dict, blank=True)
    # The switches and tools that it was made for (chat/context/heads.py: condition_of).
    condition = models.TextField(blank=True)
    created_at = models.DateTimeField(db_default=Now(), editable=False)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["session", "number"], name="one_head_per_number")]

    def __str__(self) -> str:
        return f"head {self.number} of {self.session_id}"

    def section_texts(self) -> list[tuple[str, str]]:
        """Return (name, text) of each section of the system text; all of it with the name "" when none are recorded."""
        if not self.sections:
            return [("", self.system)]
        found, start = [], 0
        for name, length in self.sections:
            found.append((name, self.system[start : start + length]))
            start += length + len(SECTION_BREAK)
        return found
