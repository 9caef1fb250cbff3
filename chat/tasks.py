"""Tasks: ids in, no logic, safe to run twice."""

from celery import shared_task

from chat import transcript


@shared_task
def sweep() -> None:
    transcript.sweep()
