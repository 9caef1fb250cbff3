"""Check what must hold over the whole database, whatever crashed: each app names its invariants, `check()` checks all.

An app that has invariants has a module `invariants` with a list INVARIANTS. What holds for every job is checked here.
"""

import datetime as dt
import importlib
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, cast

from django.apps import apps
from django.conf import settings
from django.db import connection
from django.utils import timezone
from django.utils.module_loading import module_has_submodule

from oneclaw.jobs import Job
from oneclaw.models import InvariantRun

# Violations whose text a run keeps; beyond them it only counts.
KEPT = 1000
EVERY = dt.timedelta(hours=24)

# A lease that has ended and a job that is due may be seen by a few sweeps before a worker has time.
JOB_RULES = """
    SELECT format('%%s %%s is %%s but %%s', '{name}', job.id, job.status, rule.sentence)
    FROM {table} job CROSS JOIN LATERAL (VALUES
        (num_nonnulls(token, lease_until) <> CASE status WHEN 'running' THEN 2 ELSE 0 END,
            'its claim is not that of such a job'),
        ((finished_at IS NULL) <> (status IN ('queued', 'running')), 'its end is not that of such a job'),
        (status = 'running' AND attempts = 0, 'was never claimed'),
        (status = 'failed' AND error = '', 'does not say why'),
        (status = 'running' AND lease_until < now() - interval '4 minutes',
            format('its lease ended %%s s ago', round(extract(epoch FROM now() - lease_until)))),
        (status = 'queued' AND due_at < now() - interval '1 day', format('no worker claims it since %%s', due_at)),
        (status IN ('queued', 'running') AND attempts > 200, format('was tried %%s times', attempts))
    ) AS rule (broken, sentence)
    WHERE rule.broken
"""


@dataclass(frozen=True)
class Invariant:
    """A promise. `broken` finds what breaks it: a sentence for each violation, which names the row."""

    name: str
    broken: Callable[[], Iterable[str]]


@dataclass(frozen=True)
class Violation:
    invariant: str
    text: str

    def __str__(self) -> str:
        return f"{self.invariant}: {self.text}"


def check() -> Iterator[Violation]:
    """Yield every violation in the database as it is now. A running product gives no false alarm: each query sees one
    moment."""
    for invariant in known():
        for text in invariant.broken():
            yield Violation(invariant.name, text)


def run(tell: Callable[[Violation], None] = lambda violation: None) -> InvariantRun:
    """Check everything, `tell` each violation as it is found, and keep what was found."""
    started, kept, count = time.monotonic(), [], 0
    for violation in check():
        tell(violation)
        count += 1
        if count <= KEPT:
            kept.append({"invariant": violation.invariant, "text": violation.text})
    seconds = round(time.monotonic() - started, 3)
    return InvariantRun.objects.create(seconds=seconds, checked=len(known()), count=count, violations=kept)


def broken_jobs() -> Iterator[str]:
    """Yield a sentence for each job of any kind that contradicts itself, or that no worker does."""
    for model in apps.get_models():
        if issubclass(model, Job):
            name, table = model._meta.verbose_name, model._meta.db_table
            yield from by_query(JOB_RULES.format(name=name, table=table))()


def run_if_due() -> None:
    """Check everything once a day. Beat forgets its times when it stops, so the last run says when it was."""
    if not InvariantRun.objects.filter(at__gt=timezone.now() - EVERY).exists():
        run()


def known() -> list[Invariant]:
    """Return the invariants of all installed apps."""
    found = [Invariant("a job is what its status says, and is done in time", broken_jobs)]
    for config in apps.get_app_configs():
        if config.name != "oneclaw" and module_has_submodule(config.module, "invariants"):
            found += importlib.import_module(f"{config.name}.invariants").INVARIANTS
    return found


def by_query(sql: str, **parameters: Any) -> Callable[[], Iterator[str]]:
    """Broken by each row that `sql` finds; its one column is the sentence. One statement, so one moment."""

    def broken() -> Iterator[str]:
        with connection.cursor() as cursor:
            cursor.execute(sql, parameters)
            while rows := cursor.fetchmany(1000):
                for (text,) in rows:
                    yield text

    return broken


def grace(sweep: str) -> float:
    """Seconds that a row may be past its lease before somebody should have seen it: four times that of the sweep,
    which is an entry of the beat."""
    return 4 * cast(float, settings.CELERY_BEAT_SCHEDULE[sweep]["schedule"])
