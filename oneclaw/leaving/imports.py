"""Take an uploaded archive in, by any worker, late or again; a second run takes nothing in twice."""

import os
from pathlib import Path

from django.conf import settings
from django.core.files.uploadedfile import UploadedFile
from django.db import IntegrityError, transaction
from django.utils.translation import gettext_lazy as _

from oneclaw.jobs import Job
from oneclaw.leaving import archive
from oneclaw.models import AccountImport, User
from oneclaw.tasks import hint
from oneclaw.text import UserFacingError, replace_unstorable
from oneclaw.zipping import ArchiveTooLargeError, BadArchiveError

# Attempts until the job ends: one that kills its worker must not do so for ever.
MAX_ATTEMPTS = 3


class ImportRunningError(UserFacingError):
    """The person has an import that has not ended."""

    wording = _("Another import of yours has not ended yet.")


def begin(user: User, upload: UploadedFile | None) -> AccountImport:
    """Store the archive and the job that takes it in. Raise BadArchiveError or ImportRunningError."""
    if upload is None or not upload.size:
        raise BadArchiveError
    if upload.size > settings.IMPORT_MEGABYTES * archive.MEGABYTE_BYTES:
        raise ArchiveTooLargeError
    try:
        with transaction.atomic():
            name = " ".join(replace_unstorable(upload.name or "").split())[:200]
            job = AccountImport.objects.create(owner=user, name=name)
            path = path_of(job.pk)
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
                for piece in upload.chunks():
                    file.write(piece)
            hint(AccountImport.TASK, job.pk)
    except IntegrityError:
        raise ImportRunningError from None
    return job


def run(job_id: int) -> None:
    """Do the job if it is due and not claimed by another worker."""
    job = AccountImport.objects.claim(job_id)
    if job is None:
        return
    with job.attempt():
        if job.attempts > MAX_ATTEMPTS:
            _end(job, Job.Status.FAILED, error="faulty")
        else:
            _take_in(job)


def path_of(job_id: int) -> Path:
    """Return where the uploaded archive of a job is."""
    return Path(settings.IMPORTS) / f"account-{job_id}.zip"


def _take_in(job: AccountImport) -> None:
    try:
        with job.renewals(), path_of(job.pk).open("rb") as file:
            counts = archive.read(job.owner, file, job.renew)
    except ArchiveTooLargeError:
        _end(job, Job.Status.FAILED, error="too_large")
    except (BadArchiveError, FileNotFoundError):
        _end(job, Job.Status.FAILED, error="bad")
    else:
        _end(job, Job.Status.DONE, counts=counts)


def _end(job: AccountImport, status: str, **changes: object) -> None:
    job.finish(status, **changes)  # type: ignore[arg-type]
    path_of(job.pk).unlink(missing_ok=True)
