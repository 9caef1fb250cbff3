"""Check the invariants: rules that must hold over the whole database after any crash.

Those of an app are in its Domain (oneclaw/domains.py); `check()` checks those of all apps, and the rules of every job.
"""

import datetime as dt
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, cast

from django.conf import settings
from django.db import connection

from oneclaw import domains, jobs
from oneclaw.domains import Invariant
from oneclaw.models import InvariantRun, clock

# Violations whose text a run stores; further ones are only counted.
STORED_VIOLATIONS = 1000
CHECK_INTERVAL = dt.timedelta(hours=24)

# Busy workers may leave an expired lease or a due job for a few sweeps, so these rules have a tolerance.
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

SPACES_HAVE_OWNERS = """
    SELECT format('the %%s space %%s has no owner among its members', space.kind, space.id)
    FROM oneclaw_space space
    WHERE NOT EXISTS (
        SELECT FROM oneclaw_spacemember member
        WHERE member.space_id = space.id AND member.user_id = space.owner_id AND member.role = 'owner'
    )
    UNION ALL
    SELECT format('the %%s space %%s of person %%s is open to person %%s',
                  space.kind, space.id, space.owner_id, role.user_id)
    FROM oneclaw_space space JOIN oneclaw_spacerole role ON role.space_id = space.id
    WHERE space.kind IN ('own', 'agent') AND role.user_id <> space.owner_id
"""


@dataclass(frozen=True)
class Violation:
    """One violation of an invariant, as a sentence that names the row."""

    invariant: str
    text: str

    def __str__(self) -> str:
        return f"{self.invariant}: {self.text}"


def check() -> Iterator[Violation]:
    """Yield every violation in the current database.

    It may be called while the product runs: each invariant is one statement, which reads one snapshot.
    """
    for invariant in all_invariants():
        for text in invariant.violations():
            yield Violation(invariant.name, text)


def run(on_violation: Callable[[Violation], None] = lambda violation: None) -> InvariantRun:
    """Check all invariants, call `on_violation` for each violation found, and return the stored result."""
    started, stored, count = time.monotonic(), [], 0
    for violation in check():
        on_violation(violation)
        count += 1
        if count <= STORED_VIOLATIONS:
            stored.append({"invariant": violation.invariant, "text": violation.text})
    seconds = round(time.monotonic() - started, 3)
    return InvariantRun.objects.create(seconds=seconds, checked=len(all_invariants()), count=count, violations=stored)


def broken_jobs() -> Iterator[str]:
    """Yield a sentence for each job of any kind whose columns contradict each other, or that no worker claims."""
    for model in jobs.kinds():
        name, table = model._meta.verbose_name, model._meta.db_table
        yield from violations_by_query(JOB_RULES.format(name=name, table=table))()


def run_if_due() -> None:
    """Check all invariants if the last stored run is a day old. Beat loses its schedule when it restarts."""
    if not InvariantRun.objects.filter(at__gt=clock.database_now() - CHECK_INTERVAL).exists():
        run()


def all_invariants() -> list[Invariant]:
    """Return the invariants of all installed apps."""
    found = [
        Invariant("a job is what its status says, and is done in time", broken_jobs),
        Invariant("a space has an owner, and a private one nobody else", violations_by_query(SPACES_HAVE_OWNERS)),
    ]
    return found + [each for domain in domains.registered() for each in domain.invariants]


def violations_by_query(sql: str, **parameters: Any) -> Callable[[], Iterator[str]]:
    """Return a function that runs `sql` and yields its only column, a sentence for each violation."""

    def violations() -> Iterator[str]:
        with connection.cursor() as cursor:
            cursor.execute(sql, parameters)
            while rows := cursor.fetchmany(1000):
                for (text,) in rows:
                    yield text

    return violations


def grace_seconds(sweep: str) -> float:
    """Return how many seconds a row may be past its lease before that is a violation: four periods of `sweep`.

    `sweep` is a key of CELERY_BEAT_SCHEDULE.
    """
    return 4 * cast(float, settings.CELERY_BEAT_SCHEDULE[sweep]["schedule"])
