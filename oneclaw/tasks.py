"""Send tasks to the workers, and define those of the platform: ids in, no logic, safe to run twice."""

import logging
from functools import partial
from typing import Any

from celery import Task, shared_task, signals, signature
from django.db import transaction

from oneclaw import invariants
from oneclaw.models import Heartbeat

logger = logging.getLogger(__name__)


def hint(task: Task | str, row_id: int | str, countdown: float = 0) -> None:
    """Wake a worker for this row, `countdown` seconds after it is committed. With the broker down nothing is lost: the
    sweep finds it. A module that the tasks themselves import names its task as "chat.tasks.take_in"."""
    transaction.on_commit(partial(send, task, row_id, countdown=countdown))


def send(task: Task | str, *arguments: int | str, countdown: float = 0) -> None:
    """Send a task, given itself or by its name, to the workers. A failure of the broker is logged, not raised."""
    name = task if isinstance(task, str) else task.name
    try:
        (signature(task) if isinstance(task, str) else task).apply_async(
            arguments, retry=False, countdown=countdown or None
        )
    except Exception:
        # Each broker fails in its own ways, and the row is committed already: the person's request has succeeded.
        logger.exception("No worker could be told of %s%s; the sweep finds it.", name, arguments)


@shared_task
def heartbeat() -> None:
    Heartbeat.objects.record(Heartbeat.WORKER)


@signals.worker_ready.connect
def show_life(**kwargs: Any) -> None:
    """Record that a worker which has just started is alive, although no task has reached it yet."""
    heartbeat()


@shared_task
def check_invariants() -> None:
    invariants.run_if_due()
