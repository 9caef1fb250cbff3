"""Heartbeats of the processes, and the results of invariant checks."""

import datetime as dt
from typing import Any, ClassVar

from django.db import models
from django.utils import timezone

from oneclaw.models import clock

# Beat sends a heartbeat every 15 seconds through the broker; four missed ones mean that no worker is working.
WORKER_SILENCE = dt.timedelta(seconds=60)


class HeartbeatQuerySet(models.QuerySet["Heartbeat"]):
    def record(self, name: str) -> None:
        """Record that the part `name` works now, by the clock of the database."""
        # One statement: two workers that start at once do not collide.
        rows: list[Any] = [Heartbeat(name=name, at=clock.database_now())]
        self.bulk_create(rows, update_conflicts=True, unique_fields=["name"], update_fields=["at"])

    def has_worker(self) -> bool:
        """Return whether a task has travelled through the broker to a worker within WORKER_SILENCE."""
        return self.filter(name=Heartbeat.WORKER, at__gt=clock.database_now() - WORKER_SILENCE).exists()


class Heartbeat(models.Model):
    """The time at which a part of OneClaw last worked."""

    WORKER: ClassVar[str] = "worker"

    name = models.CharField(max_length=40, primary_key=True)
    at = models.DateTimeField()

    objects: ClassVar[HeartbeatQuerySet] = HeartbeatQuerySet.as_manager()  # type: ignore[assignment]

    def __str__(self) -> str:
        return f"{self.name} at {self.at:%Y-%m-%d %H:%M:%S}"


class InvariantRun(models.Model):
    """The result of one check of all invariants (oneclaw/invariants.py)."""

    at = models.DateTimeField(default=timezone.now)
    seconds = models.FloatField()
    # How many invariants were checked, and how many violations there were.
    checked = models.PositiveIntegerField()
    count = models.PositiveIntegerField()
    # The first of them: [{"invariant": name, "text": sentence}]
    violations = models.JSONField(default=list)

    class Meta:
        ordering = ["-at"]

    def __str__(self) -> str:
        return f"{self.at:%Y-%m-%d %H:%M}: {self.count} violations"
