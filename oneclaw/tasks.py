"""Send tasks to the workers, and define those of the platform: ids in, no logic, safe to run twice."""

import logging
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial
from typing import Any

from celery import Task, current_app, shared_task, signals, signature
from django.db import transaction

from oneclaw import invariants, jobs
from oneclaw.audit import chain, webhook
from oneclaw.jobs import DueJob, Job
from oneclaw.llm.descriptions import refresh_if_due
from oneclaw.models import Heartbeat
from oneclaw.models.health import WORKER_SILENCE

logger = logging.getLogger(__name__)

_only_rows: ContextVar[bool] = ContextVar("only_rows", default=False)


def hint(task: Task | str, row_id: int | str | uuid.UUID | None, countdown: float = 0) -> None:
    """Send `task` with `row_id`, `countdown` seconds after the transaction commits; nothing for None.

    The sweep finds a lost hint. A module that the tasks themselves import gives the task by name, such as
    `ImportJob.TASK`.
    """
    if row_id is not None and not _only_rows.get():
        transaction.on_commit(partial(send, task, row_id, countdown=countdown))


@contextmanager
def only_rows() -> Iterator[None]:
    """Let `hint` send nothing in this block, which writes so many rows that the sweeps should find them.

    A long queue makes each of its tasks wait, and those of people too.
    """
    token = _only_rows.set(True)
    try:
        yield
    finally:
        _only_rows.reset(token)


def send(task: Task | str, *arguments: int | str | uuid.UUID, countdown: float = 0) -> None:
    """Send `task` (a task or its name) with `arguments` to the workers. Errors of the broker are logged, not raised."""
    name = task if isinstance(task, str) else task.name
    plain = tuple(str(each) if isinstance(each, uuid.UUID) else each for each in arguments)
    try:
        found = current_app.tasks.get(name) or signature(name) if isinstance(task, str) else task
        found.apply_async(plain, retry=False, countdown=countdown or None)
    except Exception:
        # Each broker has its own exceptions, and the row is committed: the person's request has succeeded.
        logger.exception("The task %s%s could not be sent; the sweep finds its row.", name, arguments)


def job_task(kind: type[Job], run: Callable[[Any], DueJob | None]) -> Task:
    """Return the task of the jobs of `kind`. It does one by `run`, which takes its primary key and claims it, and sends
    the job that `run` returns."""

    def do(job_id: int | str) -> None:
        if following := run(kind._meta.pk.to_python(job_id)):
            send(kind.TASK, following.pk, countdown=following.seconds)

    return shared_task(name=kind.TASK)(do)


def sweep_jobs(app: str) -> None:
    """Send the jobs that are due, of every kind whose task is one of `app`: a hint was lost, or a worker has died."""
    for kind in jobs.kinds():
        if kind.TASK.startswith(f"{app}."):
            for pk in kind.objects.to_send():
                send(kind.TASK, pk)


# A message that has waited longer says nothing about the broker now, and is not executed.
@shared_task(expires=WORKER_SILENCE.total_seconds())
def heartbeat() -> None:
    Heartbeat.objects.record(Heartbeat.WORKER)


@signals.worker_ready.connect
def send_first_heartbeat(**kwargs: Any) -> None:
    """Send a heartbeat through the broker as soon as a worker has started, before that of beat."""
    send(heartbeat)


@shared_task
def check_invariants() -> None:
    invariants.run_if_due()


@shared_task(expires=60)
def link_audit_log() -> None:
    """Link the new events of the audit log, and send them to the collector."""
    chain.link_all()
    webhook.deliver()


@shared_task
def refresh_model_facts() -> None:
    refresh_if_due()


@signals.worker_ready.connect
def ask_about_models(**kwargs: Any) -> None:
    """Ask what the models can do as soon as a worker has started: it may make requests without a web process."""
    send(refresh_model_facts)
