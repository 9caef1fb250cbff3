"""Define the files of libraries: the files of a space, their versions, and what the search reads of the newest one."""

import uuid
from typing import Any, ClassVar, Self

from django.db import models
from pgvector.django import HalfVectorField

from memory.models.index import EmbeddingModel
from oneclaw.jobs import Job, JobQuerySet
from oneclaw.models import Space, User
from oneclaw.reasons import Reason


class LibraryFileQuerySet(models.QuerySet["LibraryFile"]):
    def visible_to(self, user: User) -> "LibraryFileQuerySet":
        """Return the files in the spaces of `user`."""
        return self.filter(space__roles__user=user)


class LibraryFile(models.Model):
    """A file that people put into a space, by its name. Its content is that of its newest version."""

    NAME_MAX_CHARS: ClassVar[int] = 120

    space = models.ForeignKey(Space, on_delete=models.CASCADE, related_name="library_files", db_index=False)
    name = models.CharField(max_length=NAME_MAX_CHARS)
    created_at = models.DateTimeField(auto_now_add=True)

    objects: ClassVar[models.Manager["LibraryFile"]] = LibraryFileQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["space", "name"], name="library_name_once"),
            # The target of composite foreign keys, like that of MemoryDocument.
            models.UniqueConstraint(fields=["space", "id"], name="library_file_of_space"),
        ]

    def __str__(self) -> str:
        # Without the name, which is private.
        return f"file {self.pk}"


class FileVersionQuerySet(JobQuerySet["FileVersion"]):
    def visible_to(self, user: User) -> Self:
        """Return the versions of the files in the spaces of `user`."""
        return self.filter(file__space__roles__user=user)


class FileVersion(Job):
    """A version of a file, and the job to read it: queued (waiting), running (being read), done (read) or failed.

    Its bytes are stored under settings.LIBRARY in the folder of the space, by its id.
    """

    LEASE_SECONDS: ClassVar[float] = 60
    TASK: ClassVar[str] = "memory.tasks.read_library_file"
    # Each reads what is due after it.
    SWEEP_MAX_COUNT: ClassVar[int] = 2

    class Kind(models.TextChoices):
        PDF = "pdf"
        DOCX = "docx"
        PPTX = "pptx"
        XLSX = "xlsx"
        XLSB = "xlsb"
        XLS = "xls"
        ODS = "ods"
        ODT = "odt"
        ODP = "odp"
        HTML = "html"
        TEXT = "text"

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    file = models.ForeignKey(LibraryFile, on_delete=models.CASCADE, related_name="versions", db_index=False)
    # 1, 2, 3 …
    number = models.PositiveIntegerField()
    # Who added it; the file stays in a shared space when that person leaves.
    owner = models.ForeignKey(User, on_delete=models.SET_NULL, null=True, blank=True, related_name="+")  # type: ignore[assignment]
    size = models.PositiveBigIntegerField()
    sha256 = models.CharField(max_length=64)
    # "" until it is read.
    kind = models.CharField(max_length=5, choices=Kind, blank=True)
    # Pages of a PDF, slides or sheets, and how many of them have been read; 0 for a file without pages.
    pages = models.PositiveIntegerField(default=0)
    pages_read = models.PositiveIntegerField(default=0)
    lines = models.PositiveIntegerField(default=0)
    characters = models.PositiveIntegerField(default=0)
    # Whether the limits left some of it unread.
    is_cut = models.BooleanField(default=False)
    # Sheets that are hidden in their program, which are not read.
    hidden_sheets = models.PositiveIntegerField(default=0, db_default=0)
    # `error` is the code of a wording library.… (memory/wordings.py).

    objects: ClassVar[models.Manager[Any]] = FileVersionQuerySet.as_manager()

    class Meta(Job.Meta):
        constraints = [models.UniqueConstraint(fields=["file", "number"], name="file_version_once")]

    def __str__(self) -> str:
        return f"version {self.number} of file {self.file_id}: {self.status}"

    @property
    def state(self) -> str:
        """Return what the status of the job is called of a file: waiting, reading, ready or failed."""
        return {"queued": "waiting", "running": "reading", "failed": "failed"}.get(self.status, "ready")

    @property
    def reason(self) -> Reason | None:
        """Return why it could not be read, or None."""
        return Reason(f"library.{self.error}") if self.status == self.Status.FAILED else None


class FilePage(models.Model):
    """The text of a page, slide or sheet of a version; of the whole file where it has no pages."""

    version = models.ForeignKey(FileVersion, on_delete=models.CASCADE, related_name="texts", db_index=False)
    # 1, 2, 3 …
    number = models.PositiveIntegerField()
    # The number of its first line in the file, counted from 1.
    first_line = models.PositiveIntegerField()
    text = models.TextField(blank=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["version", "number"], name="file_page_once")]


class FileIndex(models.Model):
    """The packed chunks and terms of the version of a file that is searched, like DocumentIndex."""

    # Composite foreign key (space, file) in the migration: an index cannot point into another space.
    file = models.OneToOneField(
        LibraryFile, models.DO_NOTHING, primary_key=True, related_name="index", db_constraint=False
    )
    space = models.ForeignKey(Space, models.DO_NOTHING, related_name="+", db_constraint=False)
    version = models.ForeignKey(FileVersion, models.CASCADE, related_name="index")
    layout = models.PositiveSmallIntegerField()
    units = models.PositiveIntegerField()
    data = models.BinaryField()
    # The signs of each chunk's vector by `embedded_by`, in the chunks' order.
    bits = models.BinaryField(null=True)
    # The model that has embedded every chunk; None while vectors are missing.
    embedded_by = models.ForeignKey(EmbeddingModel, models.SET_NULL, null=True, blank=True, related_name="+")


class FileChunk(models.Model):
    """A chunk of the version of a file that is searched. Its neighbours: ordinal ± 1."""

    # Composite foreign key (space, file) in the migration, like that of FileIndex.
    space = models.ForeignKey(Space, models.DO_NOTHING, related_name="+", db_constraint=False, db_index=False)
    file = models.ForeignKey(LibraryFile, models.DO_NOTHING, related_name="chunks", db_constraint=False, db_index=False)
    ordinal = models.PositiveIntegerField()
    # The page that it is on, and its lines in the file, counted from 1, both included.
    page = models.PositiveIntegerField()
    start_line = models.PositiveIntegerField()
    end_line = models.PositiveIntegerField()
    heading = models.TextField(blank=True)
    text = models.TextField()
    text_key = models.BigIntegerField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["file", "ordinal"], name="file_chunk_once")]
        indexes = [models.Index(fields=["space", "text_key"], name="file_chunk_texts")]


class FileVector(models.Model):
    """The vector of a chunk's text by a model, stored once for each space; apart from those of memory, which every
    search of memory reads."""

    space = models.ForeignKey(Space, models.CASCADE, related_name="+", db_index=False)
    model = models.ForeignKey(EmbeddingModel, models.CASCADE, related_name="+", db_index=False)
    text_key = models.BigIntegerField()
    vector = HalfVectorField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["space", "model", "text_key"], name="file_vector_once")]
