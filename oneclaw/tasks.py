"""Tasks: ids in, no logic, safe to run twice."""

from celery import shared_task

from oneclaw import health


@shared_task
def heartbeat() -> None:
    health.note_worker()
