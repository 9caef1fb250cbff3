"""What must hold over the whole database, whatever crashed: each app names its promises, `check()` looks at all.

An app that has promises has a module `invariants` with a list INVARIANTS.
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

from oneclaw.models import InvariantRun

# Violations whose text a run keeps; beyond them it only counts.
KEPT = 1000
EVERY = dt.timedelta(hours=24)


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
    """Every violation in the database as it is now. A running product gives no false alarm: a query sees one moment."""
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


def run_if_due() -> None:
    """Check everything once a day. Beat forgets its times when it stops, so the last run says when it was."""
    if not InvariantRun.objects.filter(at__gt=timezone.now() - EVERY).exists():
        run()


def known() -> list[Invariant]:
    """The promises of all installed apps."""
    found: list[Invariant] = []
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
