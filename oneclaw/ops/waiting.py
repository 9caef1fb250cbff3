"""The numbers of what waits in the database, for Prometheus; they are read with each request for them."""

import datetime as dt
from collections.abc import Iterator

from django.apps import apps
from django.db.models import Count, Min
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from oneclaw.jobs import Job
from oneclaw.models import AuditDelivery, AuditLink, Heartbeat, clock


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
        for model in apps.get_models():
            if not issubclass(model, Job):
                continue
            kind = model._meta.model_name or ""
            due = model.objects.due().order_by().aggregate(count=Count("pk"), since=Min("due_at"))
            waiting.add_metric([kind], due["count"])
            oldest.add_metric([kind], _seconds(now, due["since"]))
            failed.add_metric([kind], model.objects.filter(status=Job.Status.FAILED).count())
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
