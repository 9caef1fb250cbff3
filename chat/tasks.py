"""The Celery tasks of conversations: they take ids, hold no logic, and are idempotent."""

import uuid

from celery import shared_task

from chat.attachments import store
from chat.compaction import make
from chat.conversations import presence, retention, temporary, titles, transcript
from chat.conversations.shared import queue
from chat.models import Beat, ContextRound, ImportJob, SessionRoute, Turn
from chat.routes import resets
from chat.schedules import beat, planning
from chat.schedules import retention as schedule_retention
from chat.session_tools import ends
from chat.transfer.importing import jobs
from oneclaw.leaving import imports
from oneclaw.leaving import offboard as offboarding
from oneclaw.models import AccountImport, Offboarding
from oneclaw.people.programs import signing_in
from oneclaw.tasks import job_task, send, sweep_jobs


@shared_task
def sweep() -> None:
    transcript.sweep()
    Turn.objects.ended().store_calls()
    queue.offer_left()
    temporary.sweep()
    presence.sweep()
    ends.sweep()
    jobs.sweep_files()
    planning.sweep()
    sweep_jobs("chat")
    if SessionRoute.objects.to_check().exists():
        send(reset_routes)
    for session_id in titles.due_ids():
        send(name_session, str(session_id))


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


def _offboard(offboarding_id: int) -> None:
    offboarding.run(offboarding_id)


make_round = job_task(ContextRound, make.run)
run_beat = job_task(Beat, beat.run)
take_in = job_task(ImportJob, jobs.run)
offboard = job_task(Offboarding, _offboard)
take_account_in = job_task(AccountImport, imports.run)
