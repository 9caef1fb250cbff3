"""A job is a row of work: when it is due, which worker has claimed it and until when, and how often it was tried.

    job = Flush.objects.claim(pk)       # None: not due, or another worker has it
    job.renew()                         # still at work: renews the lease
    with job.renewals(): …              # renews it again and again, while a model is asked
    with job.attempt(ModelRequestError): …   # put back when that fails
    job.finish()                        # or release(), or wait(…)

The rows are the queue; a task of Celery (TASK) is only a hint that one of them is due, and a sweep sends each hint
again (oneclaw/tasks.py). A failed job is retried after a backoff
(put_back). A worker that dies loses its claim when the lease ends, and another one claims the row. Each claim has a
token of its own, and every write of a job asks for it, so a worker whose claim has expired gets ClaimLostError and
writes nothing.

Three kinds of rows wait for work without being jobs. A turn belongs to the process that streams it: its lease says
that this process is alive, all leases of a process are renewed by one statement, and another process may end a lost
turn but not continue it. The versions of a document and a transcript's `due_at` say that a projection is out of date:
it is rebuilt under an advisory lock, from the row as it is then. A Forgetting is a receipt, and what it still has to
clean is idempotent.
"""

import contextlib
import datetime as dt
import logging
import threading
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, Self, TypeVar, runtime_checkable

from django.apps import apps
from django.db import DatabaseError, connection, models
from django.db.models import F, Q
from django.db.models.expressions import Combinable
from django.db.models.functions import Now
from django.utils import timezone

from oneclaw.models import clock
from oneclaw.models.people import User

logger = logging.getLogger(__name__)

# How often a lease is renewed before it would end.
LEASE_RENEWALS_COUNT = 4
# Seconds from one failure to the next attempt.
BACKOFF_SECONDS = (15, 60, 300, 900)
OPEN_STATUSES = ("queued", "running")
ERROR_MAX_CHARS = 1_000


class ClaimLostError(Exception):
    """The claim is no longer valid: another worker has claimed the job, or its row was deleted."""


@runtime_checkable
class WaitsError(Protocol):
    """A failure after which a job is tried again in `wait_seconds`, and which does not count as an attempt."""

    @property
    def wait_seconds(self) -> float:
        """Return the seconds until then."""


@dataclass(frozen=True)
class DueJob:
    """The job that is due after the one that was done: its primary key, and in how many seconds."""

    pk: Any
    seconds: float = 0


J = TypeVar("J", bound="Job")


class JobQuerySet(models.QuerySet[J]):
    """Jobs, by what is to be done with them."""

    def visible_to(self, user: User) -> Self:
        """Return the person's own jobs."""
        return self.filter(owner=user)

    def open(self) -> Self:
        """Return the jobs that are still to be done or being done."""
        return self.filter(status__in=OPEN_STATUSES)

    def queued(self) -> Self:
        """Return the jobs that no worker has claimed yet, due or not."""
        return self.filter(status=Job.Status.QUEUED)

    def running(self) -> Self:
        """Return the jobs that a worker has claimed, alive or not."""
        return self.filter(status=Job.Status.RUNNING)

    def finished(self) -> Self:
        """Return the jobs that were done, with or without a result."""
        return self.filter(status__in=[Job.Status.DONE, Job.Status.NOTHING])

    def due(self) -> Self:
        """Return the jobs to claim now, earliest due first: queued and due, or running with an expired lease."""
        queued = Q(status=Job.Status.QUEUED, due_at__lte=clock.database_now())
        return self.filter(queued | Q(status=Job.Status.RUNNING, lease_until__lt=clock.database_now())).order_by(
            "due_at"
        )

    def due_ids(self, limit: int = 1000) -> list[Any]:
        """Return the primary keys of at most `limit` jobs to claim now, earliest due first."""
        return list(self.due().values_list("pk", flat=True)[:limit])

    def to_send(self) -> list[Any]:
        """Return the primary keys of the jobs that a sweep sends to the workers."""
        return self.due_ids(self.model.SWEEP_MAX_COUNT)

    def claim(self, pk: object, **changes: object) -> J | None:
        """Claim the job `pk`, write `changes` and return it; None when it is not due or is claimed already."""
        token = uuid.uuid4()
        changes |= {"status": Job.Status.RUNNING, "token": token, "lease_until": self.model.lease()}
        if not self.due().filter(pk=pk).update(attempts=F("attempts") + 1, **changes):
            return None
        return self.filter(pk=pk, token=token).first()


class Job(models.Model):
    """A row of work that one worker at a time may do."""

    class Status(models.TextChoices):
        QUEUED = "queued"
        RUNNING = "running"
        DONE = "done"
        # Done, and there was nothing to write.
        NOTHING = "nothing"
        FAILED = "failed"

    # How long a worker may be silent before another one claims its job.
    LEASE_SECONDS: ClassVar[float]
    # The name of its task. Those of a previous release may be in the queue, so it never changes.
    TASK: ClassVar[str]
    # How many jobs of the kind one sweep sends at most: a long queue makes each task in it wait.
    SWEEP_MAX_COUNT: ClassVar[int] = 1000
    # The attempts after which a job that goes on failing has failed for good; None: it never has.
    MAX_ATTEMPTS: ClassVar[int | None] = None

    owner = models.ForeignKey(User, on_delete=models.CASCADE, related_name="+")
    status = models.CharField(max_length=10, choices=Status, default=Status.QUEUED)
    # Not to be claimed before this moment; each failure moves it later (backoff).
    due_at = models.DateTimeField(db_default=Now())
    # The claim, of a running job only.
    token = models.UUIDField(null=True, blank=True)
    lease_until = models.DateTimeField(null=True, blank=True)
    # Claims since the job last made progress.
    attempts = models.PositiveIntegerField(default=0)
    # Why the last attempt failed.
    error = models.TextField(blank=True)
    created_at = models.DateTimeField(default=timezone.now)
    finished_at = models.DateTimeField(null=True, blank=True)

    objects: ClassVar[models.Manager[Any]] = JobQuerySet.as_manager()

    class Meta:
        abstract = True
        indexes = [
            models.Index(fields=["due_at"], condition=Q(status__in=OPEN_STATUSES), name="%(class)s_open"),
        ]

    @property
    def is_open(self) -> bool:
        """Say whether the job is still to be done or being done."""
        return self.status in OPEN_STATUSES

    @classmethod
    def lease(cls) -> Combinable:
        """Return the end of a lease that begins now, as an expression."""
        return clock.database_now() + dt.timedelta(seconds=cls.LEASE_SECONDS)

    def renew(self, **changes: object) -> None:
        """Renew the lease and write `changes`. Raise ClaimLostError when the claim is no longer valid.

        The row stays locked until the end of the transaction, so all of its writes happen under this claim.
        """
        self._write(changes | {"lease_until": self.lease()})

    @contextlib.contextmanager
    def renewals(self) -> Iterator[None]:
        """Renew the lease from a thread of its own while the block runs, so that a lease may be short.

        A claim that is lost meanwhile is not renewed, and the next write of the job raises ClaimLostError.
        """
        done = threading.Event()
        thread = threading.Thread(target=self._renew_until, args=(done,), name=f"renewals of {self}", daemon=True)
        thread.start()
        try:
            yield
        finally:
            done.set()
            thread.join()

    @contextlib.contextmanager
    def attempt(
        self,
        *expected: type[Exception],
        faults: tuple[type[Exception], ...] = (),
        put_back: Callable[[Exception], object] | None = None,
    ) -> Iterator[None]:
        """Store how the work in the block fails: after an error of `expected`, or of `faults`, which are logged with
        their traceback, the job is put back.

        With a lost claim nothing is written. Any other error rises, and the job is claimed again once its lease ends.
        """
        try:
            yield
        except ClaimLostError:
            logger.warning("%s %s was claimed by another worker, or removed.", type(self).__name__, self.pk)
        except (*expected, *faults) as error:
            level = logging.WARNING if isinstance(error, expected) else logging.ERROR
            about = type(self).__name__, self.pk, self.attempts, type(error).__name__
            logger.log(level, "%s %s failed in attempt %s: %s", *about, exc_info=level == logging.ERROR)
            with contextlib.suppress(ClaimLostError):
                (put_back or self.put_back)(error)

    def put_back(self, error: Exception, **changes: object) -> bool:
        """Queue the job again after `error`, and write `changes`; return False when it has failed for good.

        Raise ClaimLostError when the claim is no longer valid.
        """
        if isinstance(error, WaitsError):
            self.wait(error.wait_seconds, error_text(error), **changes)
        elif self.MAX_ATTEMPTS is not None and self.attempts >= self.MAX_ATTEMPTS:
            self.finish(self.Status.FAILED, error_text(error), **changes)
            return False
        else:
            self.postpone(error_text(error), **changes)
        return True

    def finish(self, status: str = Status.DONE, error: str = "", **changes: object) -> None:
        """End the job with `status` and write `changes`. Raise ClaimLostError when the claim is no longer valid."""
        self._end_claim(changes | {"status": status, "error": error, "finished_at": clock.database_now()})

    def postpone(self, error: str, **changes: object) -> None:
        """Queue a failed job again, to be retried after a backoff, and write `changes`.

        Raise ClaimLostError when the claim is no longer valid.
        """
        delay = dt.timedelta(seconds=BACKOFF_SECONDS[min(self.attempts, len(BACKOFF_SECONDS)) - 1])
        self._end_claim(
            changes | {"status": self.Status.QUEUED, "error": error, "due_at": clock.database_now() + delay}
        )

    def wait(self, seconds: float, error: str, **changes: object) -> None:
        """Queue the job again for what it waits for, and write `changes`; this try does not count.

        Raise ClaimLostError when the claim is no longer valid.
        """
        due_at = clock.database_now() + dt.timedelta(seconds=seconds)
        changes |= {"status": self.Status.QUEUED, "error": error, "due_at": due_at, "attempts": F("attempts") - 1}
        self._end_claim(changes)

    def release(self, after_seconds: float = 0) -> None:
        """Queue the job again, at once or `after_seconds`, because it made progress or waits for something.

        Raise ClaimLostError when the claim is no longer valid.
        """
        due_at = clock.database_now() + dt.timedelta(seconds=after_seconds) if after_seconds else clock.database_now()
        self._end_claim({"status": self.Status.QUEUED, "attempts": 0, "due_at": due_at})

    def _renew_until(self, done: threading.Event) -> None:
        while not done.wait(self.LEASE_SECONDS / LEASE_RENEWALS_COUNT):
            try:
                self.renew()
            except ClaimLostError:
                return
            except DatabaseError:
                logger.warning("The lease of %s was not renewed; trying again.", self, exc_info=True)
            finally:
                connection.close()

    def _end_claim(self, changes: dict[str, object]) -> None:
        self._write(changes | {"token": None, "lease_until": None})

    def _write(self, changes: dict[str, object]) -> None:
        # The instance keeps its values, so that it is still right after a rollback.
        held = type(self).objects.filter(pk=self.pk, token=self.token)
        if self.token is None or not held.update(**changes):
            raise ClaimLostError


def error_text(error: Exception) -> str:
    """Return the text about `error` for the row of a job."""
    return f"{type(error).__name__}: {error}"[:ERROR_MAX_CHARS]


def kinds() -> list[type[Job]]:
    """Return the models of all kinds of jobs."""
    return [model for model in apps.get_models() if issubclass(model, Job)]
