"""What waits in the database, as numbers for Prometheus and for people; read with each request for them."""

import datetime as dt
from collections.abc import Iterator
from dataclasses import dataclass

from django.apps import apps
from django.db.models import Count, Min
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from oneclaw.jobs import Job
from oneclaw.models import AuditDelivery, AuditLink, Heartbeat, clock


@dataclass(frozen=True)
class JobsOfKind:
    """How many jobs of one kind are due, since when the oldest, and how many were given up."""

    kind: str
    name: str
    due: int
    since: dt.datetime | None
    failed: int


def jobs_by_kind() -> Iterator[JobsOfKind]:
    """Yield the jobs of every kind that there is."""
    for model in apps.get_models():
        if issubclass(model, Job):
            due = model.objects.due().order_by().aggregate(count=Count("pk"), since=Min("due_at"))
            failed = model.objects.filter(status=Job.Status.FAILED).count()
            name = str(model._meta.verbose_name_plural)
            yield JobsOfKind(model._meta.model_name or "", name, due["count"], due["since"], failed)


class RowsCollector(Collector):
    """Jobs of every kind that wait, when a worker was last heard of, and how far the audit log is."""

    def collect(self) -> Iterator[GaugeMetricFamily]:
        """Yield the numbers as they are now."""
        now = clock.read_database_time()
        waiting = GaugeMetricFamily("oneclaw_jobs_waiting", "Jobs that are due, by kind.", labels=["kind"])
        oldest = GaugeMetricFamily(
            "oneclaw_jobs_oldest_seconds", "How long the oldest due job waits, by kind.", labels=["kind"]
        )
        failed = GaugeMetricFamily("oneclaw_jobs_failed", "Jobs that were given up, by kind.", labels=["kind"])
        for jobs in jobs_by_kind():
            waiting.add_metric([jobs.kind], jobs.due)
            oldest.add_metric([jobs.kind], _seconds(now, jobs.since))
            failed.add_metric([jobs.kind], jobs.failed)
        yield from (waiting, oldest, failed)
        worker = Heartbeat.objects.filter(name=Heartbeat.WORKER).first()
        yield GaugeMetricFamily(
            "oneclaw_worker_silence_seconds",
            "Since a worker was last heard of.",
            value=_seconds(now, worker.at) if worker else float("inf"),
        )
        unlinked = AuditLink.objects.filter(position=None).count()
        yield GaugeMetricFamily("oneclaw_audit_unlinked", "Events of the audit log outside its chain.", value=unlinked)
        delivery = AuditDelivery.objects.first()
        yield GaugeMetricFamily(
            "oneclaw_audit_delivery_failures",
            "Failures in a row of sending the audit log to its collector.",
            value=delivery.failures if delivery else 0,
        )


def _seconds(now: dt.datetime, since: dt.datetime | None) -> float:
    return max(0.0, (now - since).total_seconds()) if since else 0.0
