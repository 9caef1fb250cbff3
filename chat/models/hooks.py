"""Define the record of hooks that a process does not ask any more, for `manage.py hooks` in another process."""

from django.db import models
from django.utils import timezone


class SwitchedOffHook(models.Model):
    """A hook that one process has switched off until it ends (chat/extensions/run_hooks.py)."""

    point = models.CharField(max_length=40)
    name = models.CharField(max_length=200)
    host = models.CharField(max_length=200)
    pid = models.PositiveIntegerField()
    # What was wrong last, for the operator; never text of a conversation.
    why = models.CharField(max_length=300)
    at = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering = ["-at", "-pk"]

    def __str__(self) -> str:
        return f"{self.name} at {self.point} in process {self.pid} on {self.host}"
