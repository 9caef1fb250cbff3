"""Tasks: ids in, no logic, safe to run twice."""

from celery import shared_task

from chat import presence, transcript


@shared_task
def sweep() -> None:
    transcript.sweep()
    presence.tell_left()
