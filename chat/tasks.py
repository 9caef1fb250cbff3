"""Tasks: ids in, no logic, safe to run twice."""

import uuid

from celery import shared_task

from chat import presence, temporary, titles, transcript


@shared_task
def sweep() -> None:
    transcript.sweep()
    temporary.sweep()
    presence.tell_left()


@shared_task
def name_session(session_id: str) -> None:
    titles.name(uuid.UUID(session_id))
