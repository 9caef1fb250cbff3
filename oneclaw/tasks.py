"""Tasks: ids in, no logic, safe to run twice."""

from celery import shared_task

from oneclaw import health, invariants


@shared_task
def heartbeat() -> None:
    health.note_worker()


@shared_task
def check_invariants() -> None:
    invariants.run_if_due()
