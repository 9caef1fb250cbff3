"""An upload is taken in step by step, by any worker, late or again, and says how far it is.

    job = begin(user, upload)       # the file lies on the disk, its row says what is to be done
    run(job.pk)                     # any worker, any number of times; True: there is more, send it again

Each conversation and the count of those that are done are committed together, so whoever goes on after a worker that
was killed does nothing twice.
"""

import datetime as dt
import logging
import os
import time
import uuid
from pathlib import Path

from django.conf import settings
from django.core.files.uploadedfile import UploadedFile
from django.db import DataError, IntegrityError, transaction
from django.db.models import F
from django.utils import timezone

from chat.models import ImportJob
from chat.transfer.importing import unpack
from chat.transfer.importing.conversation import Conversation
from chat.transfer.importing.create import Known, plant
from chat.transfer.importing.formats import conversation_of, title_of
from chat.transfer.importing.reasons import FileRefused, NotBrought
from oneclaw import pubsub
from oneclaw.models import User
from oneclaw.tasks import hint
from oneclaw.text import mended

logger = logging.getLogger(__name__)

# Seconds after which a worker lets others have a turn, and for which it holds a job without a sign of life.
TURN, LEASE = 30.0, 120
# Claims in which nothing was taken in until what comes next is left aside.
TRIES = 3
# Seconds until a file counts as one that no row will name.
ROWLESS = 3600


class ClaimLost(Exception):
    """Somebody else goes on with this job now, because this claim's time was over."""


def begin(user: User, upload: UploadedFile | None) -> ImportJob:
    """The person's file, stored, and the row that says it is to be taken in. Raises FileRefused."""
    if upload is None or upload.file is None:
        raise FileRefused("none")
    if upload.size is None or upload.size > settings.IMPORT_MEGABYTES * 1024 * 1024:
        raise FileRefused("too_large")
    if not unpack.looks_right(upload.file):
        raise FileRefused("not_json")
    if ImportJob.objects.visible_to(user).open().exists():
        raise FileRefused("open")
    job = ImportJob(owner=user, name=" ".join(mended(upload.name or "").split())[:200])
    _store(upload, path_of(job.pk))
    try:
        with transaction.atomic():
            job.save(force_insert=True)
            _wake(job.pk)
    except IntegrityError:
        path_of(job.pk).unlink()
        raise FileRefused("open") from None
    return job


def run(job_id: uuid.UUID) -> bool:
    """Go on with this job, if it is due and nobody else does. Whether there is more to do."""
    job = _claim(job_id)
    if job is None:
        return False
    try:
        if job.total is None:
            _unpack(job)
        return _take_in(job)
    except FileRefused as refusal:
        _finish(job, ImportJob.State.FAILED, refusal.code)
    except ClaimLost:
        logger.warning("Import %s was taken over.", job_id)
    return False


def due() -> list[uuid.UUID]:
    """The jobs that somebody should take up now."""
    return list(ImportJob.objects.due().values_list("pk", flat=True))


def sweep_files() -> None:
    """Remove files that no open job names."""
    if not settings.IMPORTS.is_dir():
        return
    named = {str(pk) for pk in ImportJob.objects.open().values_list("pk", flat=True)}
    for path in settings.IMPORTS.iterdir():
        if path.stem not in named and time.time() - path.stat().st_mtime > ROWLESS:
            path.unlink(missing_ok=True)


def path_of(job_id: uuid.UUID) -> Path:
    return settings.IMPORTS / str(job_id)


def parts_of(job_id: uuid.UUID) -> Path:
    return path_of(job_id).with_suffix(".parts")


def _store(upload: UploadedFile, path: Path) -> None:
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        for piece in upload.chunks():
            file.write(piece)


def _wake(job_id: uuid.UUID) -> None:
    from chat.tasks import take_in

    hint(take_in, str(job_id))


def _claim(job_id: uuid.UUID) -> ImportJob | None:
    claimed = (
        ImportJob.objects.due()
        .filter(pk=job_id)
        .update(state=ImportJob.State.RUNNING, token=uuid.uuid4(), lease_until=_lease(), attempts=F("attempts") + 1)
    )
    return ImportJob.objects.select_related("owner").get(pk=job_id) if claimed else None


def _unpack(job: ImportJob) -> None:
    """Look through the file once; from then on, each conversation is found where it lies."""
    if job.attempts > TRIES:
        raise FileRefused("faulty")
    renewed = time.monotonic()

    def alive() -> None:
        nonlocal renewed
        if time.monotonic() - renewed > LEASE / 10:
            _note(job)
            renewed = time.monotonic()

    total = unpack.unpack(path_of(job.pk), parts_of(job.pk), alive)
    if not total:
        raise FileRefused("empty")
    _note(job, total=total, attempts=1)
    job.total, job.attempts = total, 1
    path_of(job.pk).unlink(missing_ok=True)


def _take_in(job: ImportJob) -> bool:
    began = time.monotonic()
    for raw, refused, following in unpack.records(parts_of(job.pk), job.position):
        if time.monotonic() - began > TURN:
            _note(job, token=None, lease_until=None, attempts=0)
            return True
        _take_in_one(job, raw, "faulty" if job.attempts > TRIES else refused, following)
    _finish(job, ImportJob.State.DONE)
    return False


@transaction.atomic
def _take_in_one(job: ImportJob, raw: bytes, refused: str, following: int) -> None:
    """One conversation and the sign that it is done: the next one begins at `following`."""
    changes: dict[str, object] = {}
    try:
        if refused:
            raise NotBrought(refused)
        conversation = conversation_of(raw)
        _plant(job, conversation)
        changes["brought"] = F("brought") + 1
        changes["messages"] = F("messages") + len(conversation.messages)
        changes["left_out"] = F("left_out") + conversation.left_out
    except Known:
        changes["known"] = F("known") + 1
    except NotBrought as refusal:
        changes["skipped"] = F("skipped") + 1
        if len(job.problems) < ImportJob.MOST_PROBLEMS:
            job.problems.append({"number": job.done + 1, "title": title_of(raw), "why": refusal.code})
            changes["problems"] = job.problems
    # This claim is the first one in which the next may be taken in.
    _note(job, done=job.done + 1, position=following, attempts=1, **changes)
    job.done, job.position, job.attempts = job.done + 1, following, 1


def _plant(job: ImportJob, conversation: Conversation) -> None:
    """Raises Known and NotBrought."""
    try:
        plant(job.owner, conversation)
    except DataError as error:
        # A value that JSON in Python has and the database has not, such as NaN. It would be so each time.
        logger.warning("A conversation cannot be stored: %s", type(error.__cause__).__name__)
        raise NotBrought("faulty") from None


def _note(job: ImportJob, **changes: object) -> None:
    """Write into the row, while this claim holds. Raises ClaimLost."""
    changes = {"lease_until": _lease()} | changes
    if not ImportJob.objects.filter(pk=job.pk, token=job.token).update(**changes):
        raise ClaimLost


def _finish(job: ImportJob, state: str, error: str = "") -> None:
    with transaction.atomic():
        _note(job, state=state, error=error, token=None, lease_until=None, finished_at=timezone.now())
        pubsub.notify(f"user:{job.owner_id}", {"kind": "sessions"})
    path_of(job.pk).unlink(missing_ok=True)
    parts_of(job.pk).unlink(missing_ok=True)


def _lease() -> dt.datetime:
    return timezone.now() + dt.timedelta(seconds=LEASE)
