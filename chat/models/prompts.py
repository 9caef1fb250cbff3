"""Saved prompts."""

from typing import ClassVar

from django.db import models

from oneclaw.models import User


class SavedPrompt(models.Model):
    """A text that a person saved for repeated use: the command /name inserts it into the composer."""

    NAME_MAX_CHARS: ClassVar[int] = 40

    owner = models.ForeignKey(User, on_delete=models.CASCADE, related_name="saved_prompts", db_index=False)
    # Without the slash, in lower case.
    name = models.CharField(max_length=NAME_MAX_CHARS)
    # The page asks for each {{variable}} before it inserts the text.
    text = models.TextField()
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["name"]
        constraints = [models.UniqueConstraint(fields=["owner", "name"], name="one_prompt_of_a_name")]

    def __str__(self) -> str:
        # Without its name, which is private.
        return f"saved prompt {self.pk}"
