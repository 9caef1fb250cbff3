"""Define how far a person has come in the walk through memory that a demo installation offers."""

from django.db import models

from oneclaw.models import User


class DemoWalk(models.Model):
    """The steps of the walk that a person has done. What happened later to the rows behind a step does not change it.

    Times are by the database's clock (oneclaw/models/clock.py).
    """

    user = models.OneToOneField(User, on_delete=models.CASCADE, primary_key=True, related_name="+")
    # When each step was first seen done; None: not yet.
    saved_at = models.DateTimeField(null=True, blank=True)
    moved_at = models.DateTimeField(null=True, blank=True)
    recalled_at = models.DateTimeField(null=True, blank=True)
    # Read by processes of the previous release, which had a step more; not used any more.
    undone_at = models.DateTimeField(null=True, blank=True)
    # When the last step was done, or the person closed the walk: from then on it is not shown any more.
    closed_at = models.DateTimeField(null=True, blank=True)

    def __str__(self) -> str:
        return f"walk of {self.user_id}"
