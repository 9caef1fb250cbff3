"""Import an uploaded file step by step, by any worker, late or again; its job says how far it is.

    job = begin(user, upload)       # the file lies on the disk, its row says what is to be done
    run(job.pk)                     # any worker, any number of times; True: there is more, send it again

Each conversation and the count of those that are done are committed together, so the worker that goes on after one that
was killed does nothing twice.
"""

import logging
import os
import time
import uuid
from pathlib import Path

from django.conf import settings
from django.core.files.uploadedfile import UploadedFile
from django.db import DataError, IntegrityError, transaction
from django.db.models import F

from chat.models import ChatSession, ImportJob
from chat.transfer.importing import unpack
from chat.transfer.importing.conversation import Conversation
from chat.transfer.importing.create import create_session, session_of
from chat.transfer.importing.formats import conversation_of, title_of
from chat.transfer.importing.grow import grow_session
from chat.transfer.importing.reasons import ImportFileRefusedError, NotImportableError
from oneclaw import pubsub
from oneclaw.jobs import DueJob
from oneclaw.leaving import imports
from oneclaw.models import AccountImport, User
from oneclaw.tasks import hint
from oneclaw.text import replace_unstorable

logger = logging.getLogger(__name__)

# After so long a worker queues the job again, so that other jobs come in between.
SLICE_SECONDS = 30.0
# Between two renewals of the lease while the file is unpacked.
RENEW_SECONDS = ImportJob.LEASE_SECONDS / 10
# Attempts at one conversation until it is skipped.
MAX_ATTEMPTS = 3
# The age at which a file that no row names is removed.
ORPHAN_SECONDS = 3600


def begin(user: User, upload: UploadedFile | None) -> ImportJob:
    """Store the person's file, and the job to import it. Raise FileRefused when the file is not accepted."""
    if upload is None or upload.file is None:
        raise ImportFileRefusedError("none")
    if upload.size is None or upload.size > settings.IMPORT_MEGABYTES * 1024 * 1024:
        raise ImportFileRefusedError("too_large")
    if not unpack.looks_right(upload.file):
        raise ImportFileRefusedError("not_json")
    if ImportJob.objects.visible_to(user).open().exists():
        raise ImportFileRefusedError("open")
    job = ImportJob(owner=user, name=" ".join(replace_unstorable(upload.name or "").split())[:200])
    _write(upload, path_of(job.pk))
    try:
        with transaction.atomic():
            job.save(force_insert=True)
            hint(ImportJob.TASK, job.pk)
    except IntegrityError:
        path_of(job.pk).unlink()
        raise ImportFileRefusedError("open") from None
    return job


def run(job_id: uuid.UUID) -> DueJob | None:
    """Continue the job if it is due and not claimed by another worker. Return it when work remains."""
    job = ImportJob.objects.claim(job_id)
    if job is None:
        return None
    with job.attempt():
        try:
            if job.total is None:
                _unpack(job)
            return DueJob(job_id) if _take_in(job) else None
        except ImportFileRefusedError as refusal:
            _finish(job, ImportJob.Status.FAILED, refusal.code)
    return None


def sweep_files() -> None:
    """Remove files that no open job names."""
    if not settings.IMPORTS.is_dir():
        return
    named = {str(pk) for pk in ImportJob.objects.open().values_list("pk", flat=True)}
    named |= {imports.path_of(pk).stem for pk in AccountImport.objects.open().values_list("pk", flat=True)}
    for path in settings.IMPORTS.iterdir():
        if path.stem not in named and time.time() - path.stat().st_mtime > ORPHAN_SECONDS:
            path.unlink(missing_ok=True)


def path_of(job_id: uuid.UUID) -> Path:
    """Return where the uploaded file of a job is."""
    return settings.IMPORTS / str(job_id)


def parts_of(job_id: uuid.UUID) -> Path:
    """Return where the conversations in the file are, once it is unpacked."""
    return path_of(job_id).with_suffix(".parts")


def _write(upload: UploadedFile, path: Path) -> None:
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        for piece in upload.chunks():
            file.write(piece)


def _unpack(job: ImportJob) -> None:
    """Read the file once, so that each conversation can be found by its position from then on."""
    if job.attempts > MAX_ATTEMPTS:
        raise ImportFileRefusedError("faulty")
    renewed = time.monotonic()

    def alive() -> None:
        nonlocal renewed
        if time.monotonic() - renewed > RENEW_SECONDS:
            job.renew()
            renewed = time.monotonic()

    total = unpack.unpack(path_of(job.pk), parts_of(job.pk), alive)
    if not total:
        raise ImportFileRefusedError("empty")
    job.renew(total=total, attempts=1)
    job.total, job.attempts = total, 1
    path_of(job.pk).unlink(missing_ok=True)


def _take_in(job: ImportJob) -> bool:
    began = time.monotonic()
    for raw, refused, following in unpack.records(parts_of(job.pk), job.position):
        if time.monotonic() - began > SLICE_SECONDS:
            job.release()
            return True
        _take_in_one(job, raw, "faulty" if job.attempts > MAX_ATTEMPTS else refused, following)
    _finish(job, ImportJob.Status.DONE)
    return False


@transaction.atomic
def _take_in_one(job: ImportJob, raw: bytes, refused: str, following: int) -> None:
    """Store one conversation, and the offset `following` at which the next one begins, in one transaction."""
    changes: dict[str, object] = {}
    try:
        if refused:
            raise NotImportableError(refused)
        conversation = conversation_of(raw)
        session = session_of(job.owner, conversation.origin)
        added = _store(job, session, conversation)
        counted = {"brought": 1, "messages": added} if session is None else {"known": 1}
        if session is not None and added:
            counted = {"grown": 1, "added": added}
        if added:
            counted |= {"left_out": conversation.left_out, "hidden": conversation.hidden}
        changes = {name: F(name) + count for name, count in counted.items()}
    except NotImportableError as refusal:
        changes["skipped"] = F("skipped") + 1
        if len(job.problems) < ImportJob.PROBLEMS_MAX:
            job.problems.append({"number": job.done + 1, "title": title_of(raw), "why": refusal.code})
            changes["problems"] = job.problems
    # This claim is the first attempt at the next conversation.
    job.renew(done=job.done + 1, position=following, attempts=1, **changes)
    job.done, job.position, job.attempts = job.done + 1, following, 1


def _store(job: ImportJob, session: ChatSession | None, conversation: Conversation) -> int:
    """Store the conversation, or what it has more than the `session` that was imported before; return how many messages
    these are. Raise NotImportableError."""
    try:
        if session is None:
            create_session(job.owner, conversation)
            return len(conversation.messages)
        # What was begun here has all that its own export has, but for what was forgotten since. A shared one has the
        # words of others.
        was_imported = session.origin == conversation.origin and not session.is_shared
        return grow_session(job.owner, session, conversation) if was_imported else 0
    except DataError as error:
        # A value that JSON in Python has and the database has not, such as NaN. It would be so each time.
        logger.warning("A conversation cannot be stored: %s", type(error.__cause__).__name__)
        raise NotImportableError("faulty") from None


def _finish(job: ImportJob, status: str, error: str = "") -> None:
    with transaction.atomic():
        job.finish(status, error)
        pubsub.notify(f"user:{job.owner_id}", {"kind": "sessions"})
    path_of(job.pk).unlink(missing_ok=True)
    parts_of(job.pk).unlink(missing_ok=True)
