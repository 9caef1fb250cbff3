"""Health checks: `/healthz` of the process alone, `/readyz` of the services that it needs."""

import contextlib

import psycopg
from django.contrib.auth.decorators import login_not_required
from django.db import DatabaseError, connection
from django.db.migrations.executor import MigrationExecutor
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.views.decorators.http import require_safe

from oneclaw.models import Heartbeat
from oneclaw.pubsub import connection_parameters


@login_not_required
@require_safe
def healthz(request: HttpRequest) -> HttpResponse:
    """Return 200: the process answers requests."""
    return HttpResponse("ok\n", content_type="text/plain")


@login_not_required
@require_safe
def readyz(request: HttpRequest) -> JsonResponse:
    """Return 200 when the database answers, all migrations are applied and a task has reached a worker; else 503.

    The JSON body says which of them are fulfilled.
    """
    found = {"database": False, "migrations": False, "worker": False}
    with contextlib.suppress(psycopg.Error, DatabaseError):
        # A new connection fails at once, where the pool would wait.
        psycopg.connect(**connection_parameters() | {"connect_timeout": 2}).close()
        found["database"] = True
        found["migrations"] = is_migrated()
        found["worker"] = found["migrations"] and Heartbeat.objects.has_worker()
    return JsonResponse(found, status=200 if all(found.values()) else 503)


def is_migrated() -> bool:
    """Return whether all migrations are applied."""
    executor = MigrationExecutor(connection)
    return not executor.migration_plan(executor.loader.graph.leaf_nodes())
