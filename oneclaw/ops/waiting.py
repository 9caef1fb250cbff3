"""What waits in the database, and what was spent lately, as numbers for Prometheus and for people; read with each
request for them."""

import datetime as dt
from collections.abc import Iterator
from dataclasses import dataclass

from django.db.models import Count, F, Min, Sum
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from oneclaw import jobs
from oneclaw.jobs import Job
from oneclaw.models import AuditDelivery, AuditLink, Heartbeat, Spend, clock

SPEND_INTERVAL = dt.timedelta(hours=1)


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
    for model in jobs.kinds():
        due = model.objects.due().order_by().aggregate(count=Count("pk"), since=Min("due_at"))
        failed = model.objects.filter(status=Job.Status.FAILED).count()
        name = str(model._meta.verbose_name_plural)
        yield JobsOfKind(model._meta.model_name or "", name, due["count"], due["since"], failed)


class RowsCollector(Collector):
    """Jobs of every kind that wait, when a worker was last heard of, how far the audit log is, and what calls of models
    have taken in all processes: workers have no page of their own."""

    def collect(self) -> Iterator[GaugeMetricFamily]:
        """Yield the numbers as they are now."""
        now = clock.read_database_time()
        waiting = GaugeMetricFamily("oneclaw_jobs_waiting", "Jobs that are due, by kind.", labels=["kind"])
        oldest = GaugeMetricFamily(
            "oneclaw_jobs_oldest_seconds", "How long the oldest due job waits, by kind.", labels=["kind"]
        )
        failed = GaugeMetricFamily("oneclaw_jobs_failed", "Jobs that were given up, by kind.", labels=["kind"])
        for found in jobs_by_kind():
            waiting.add_metric([found.kind], found.due)
            oldest.add_metric([found.kind], _seconds(now, found.since))
            failed.add_metric([found.kind], found.failed)
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
        yield from _spent_since(now - SPEND_INTERVAL)


def _spent_since(since: dt.datetime) -> Iterator[GaugeMetricFamily]:
    """Yield what calls of models have taken since then, by purpose."""
    calls = GaugeMetricFamily(
        "oneclaw_spend_hour_calls", "Calls of models in the last hour, of all processes.", labels=["purpose"]
    )
    tokens = GaugeMetricFamily("oneclaw_spend_hour_tokens", "Their tokens of all kinds.", labels=["purpose"])
    cost = GaugeMetricFamily("oneclaw_spend_hour_dollars", "Their cost in US dollars.", labels=["purpose"])
    of_all_kinds = F("input_tokens") + F("output_tokens") + F("cached_tokens") + F("written_tokens")
    counts = dict.fromkeys(Spend.Purpose.values, (0, 0, 0.0))
    recent = Spend.objects.filter(at__gt=since).values_list("purpose").order_by()
    for purpose, number, total, dollars in recent.annotate(Count("pk"), total=Sum(of_all_kinds), dollars=Sum("cost")):
        counts[purpose] = number, total, float(dollars or 0)
    for purpose, (number, total, dollars) in counts.items():
        calls.add_metric([purpose], number)
        tokens.add_metric([purpose], total)
        cost.add_metric([purpose], dollars)
    yield from (calls, tokens, cost)


def _seconds(now: dt.datetime, since: dt.datetime | None) -> float:
    return max(0.0, (now - since).total_seconds()) if since else 0.0
