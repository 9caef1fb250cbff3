"""Whether it lives: `/healthz` speaks for the process alone, `/readyz` for all that it needs."""

import contextlib
import datetime as dt

import psycopg
from django.db import DatabaseError, connection
from django.db.migrations.executor import MigrationExecutor
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.utils import timezone
from django.views.decorators.http import require_safe

from oneclaw.models import Heartbeat
from oneclaw.pubsub import connection_parameters

# Beat sends a heartbeat every 15 seconds; a worker that did none of four does nothing.
WORKER_SILENCE = dt.timedelta(seconds=60)


@require_safe
def healthz(request: HttpRequest) -> HttpResponse:
    return HttpResponse("ok\n", content_type="text/plain")


@require_safe
def readyz(request: HttpRequest) -> JsonResponse:
    """200 when the database answers, all migrations are applied, and a worker works; else 503, and which is missing."""
    found = {"database": False, "migrations": False, "worker": False}
    with contextlib.suppress(psycopg.Error, DatabaseError):
        # A connection of its own says at once what the pool would wait for.
        psycopg.connect(**connection_parameters() | {"connect_timeout": 2}).close()
        found["database"] = True
        found["migrations"] = is_migrated()
        found["worker"] = found["migrations"] and has_worker()
    return JsonResponse(found, status=200 if all(found.values()) else 503)


def is_migrated() -> bool:
    executor = MigrationExecutor(connection)
    return not executor.migration_plan(executor.loader.graph.leaf_nodes())


def has_worker() -> bool:
    """Return whether some worker has run a task lately, which takes beat, broker and worker together."""
    return Heartbeat.objects.filter(name=Heartbeat.WORKER, at__gt=timezone.now() - WORKER_SILENCE).exists()
