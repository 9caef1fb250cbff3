"""The prompts that a person keeps."""

from typing import ClassVar

from django.db import models

from oneclaw.models import User


class SavedPrompt(models.Model):
    """A text that a person keeps to send it again: the command /name puts it into the composer."""

    LONGEST_NAME: ClassVar[int] = 40

    owner = models.ForeignKey(User, on_delete=models.CASCADE, related_name="saved_prompts", db_index=False)
    # Without the slash, in lower case.
    name = models.CharField(max_length=LONGEST_NAME)
    # {{a variable}} is asked for before the text is used.
    text = models.TextField()
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["name"]
        constraints = [models.UniqueConstraint(fields=["owner", "name"], name="one_prompt_of_a_name")]

    def __str__(self) -> str:
        # Without its name, which is the person's own.
        return f"saved prompt {self.pk}"
