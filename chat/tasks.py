"""The Celery tasks of conversations: they take ids, hold no logic, and are idempotent."""

import uuid

from celery import shared_task

from chat.attachments import store
from chat.compaction import make
from chat.conversations import presence, retention, temporary, titles, transcript
from chat.conversations.shared import queue
from chat.models import ContextRound, ImportJob, SessionRoute, Turn
from chat.routes import resets
from chat.schedules import beat, planning
from chat.schedules import retention as schedule_retention
from chat.session_tools import ends
from chat.transfer.importing import jobs
from oneclaw.leaving import imports
from oneclaw.leaving import offboard as offboarding
from oneclaw.models import AccountImport, Offboarding
from oneclaw.people.programs import signing_in
from oneclaw.tasks import send


@shared_task
def sweep() -> None:
    transcript.sweep()
    Turn.objects.ended().store_calls()
    queue.offer_left()
    temporary.sweep()
    presence.sweep()
    ends.sweep()
    jobs.sweep_files()
    if SessionRoute.objects.to_check().exists():
        send(reset_routes)
    for session_id in titles.due_ids():
        send(name_session, str(session_id))
    for round_id in ContextRound.objects.due_ids():
        send(make_round, round_id)
    for beat_id in planning.sweep():
        send(run_beat, beat_id)
    for job_id in ImportJob.objects.due_ids():
        send(take_in, str(job_id))
    for offboarding_id in Offboarding.objects.due_ids():
        send(offboard, offboarding_id)
    for import_id in AccountImport.objects.due_ids():
        send(take_account_in, import_id)


@shared_task
def reset_routes() -> None:
    resets.sweep()


@shared_task
def sweep_attachments() -> None:
    store.sweep()


@shared_task
def purge() -> None:
    retention.sweep()
    retention.sweep_by_age()
    schedule_retention.sweep()
    signing_in.remove_unused()


@shared_task
def name_session(session_id: str) -> None:
    titles.name_session(uuid.UUID(session_id))


@shared_task
def take_in(job_id: str) -> None:
    if jobs.run(uuid.UUID(job_id)):
        send(take_in, job_id)


@shared_task
def make_round(round_id: int) -> None:
    seconds = make.run(round_id)
    if seconds is not None:
        send(make_round, round_id, countdown=seconds)


@shared_task
def run_beat(beat_id: int) -> None:
    beat.run(beat_id)


@shared_task
def offboard(offboarding_id: int) -> None:
    offboarding.run(offboarding_id)


@shared_task
def take_account_in(import_id: int) -> None:
    imports.run(import_id)
