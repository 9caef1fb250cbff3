"""What is remembered: documents, every change of them, the pieces that search finds, and what was flushed."""

import datetime as dt
import hashlib
import uuid
from typing import ClassVar

from django.db import models
from django.db.models import F, Q
from django.utils import timezone
from pgvector.django import HalfVectorField

from chat.models import Agent, ChatSession, Message
from oneclaw.models import Space, User


def content_hash(text: str) -> str:
    """SHA-256 of the text's UTF-8, in hexadecimal."""
    return hashlib.sha256(text.encode()).hexdigest()


class MemoryDocumentQuerySet(models.QuerySet["MemoryDocument"]):
    def visible_to(self, user: User) -> "MemoryDocumentQuerySet":
        return self.filter(space__members__user=user)

    def present(self) -> "MemoryDocumentQuerySet":
        return self.filter(deleted_at=None)

    def to_mirror(self) -> "MemoryDocumentQuerySet":
        return self.filter(mirrored_version__lt=F("version"))

    def to_index(self) -> "MemoryDocumentQuerySet":
        return self.filter(indexed_version__lt=F("version"))


class MemoryDocument(models.Model):
    """One Markdown file of a space. Its content is what its revisions add up to."""

    space = models.ForeignKey(Space, on_delete=models.CASCADE, related_name="documents")
    # Relative to the space's folder: MEMORY.md, memory/2026-11-21.md, Recent Conversations.md.
    path = models.CharField(max_length=255)
    content = models.TextField(blank=True)
    content_hash = models.CharField(max_length=64, default=content_hash(""), editable=False)
    # The number of its newest revision; 0 before the first.
    version = models.PositiveIntegerField(default=0)
    # The versions that the file on disk and the search index hold. What differs from `version` is still to be done.
    mirrored_version = models.PositiveIntegerField(default=0)
    indexed_version = models.PositiveIntegerField(default=0)
    created_at = models.DateTimeField(auto_now_add=True)
    updated_at = models.DateTimeField(default=timezone.now)
    # A deleted document keeps its revisions, so that it can be brought back.
    deleted_at = models.DateTimeField(null=True, blank=True)

    objects: ClassVar[models.Manager["MemoryDocument"]] = MemoryDocumentQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["space", "path"], name="document_path_once"),
            # What composite foreign keys of other tables point at: a row of one space cannot name
            # the document of another.
            models.UniqueConstraint(fields=["space", "id"], name="document_of_space"),
        ]
        indexes = [
            models.Index(fields=["id"], condition=Q(mirrored_version__lt=F("version")), name="documents_to_mirror"),
            models.Index(fields=["id"], condition=Q(indexed_version__lt=F("version")), name="documents_to_index"),
        ]

    def __str__(self) -> str:
        return self.path

    @property
    def is_deleted(self) -> bool:
        return self.deleted_at is not None


class MemoryRevision(models.Model):
    """One change of one document: who, how, from which message, what.

    The database refuses to change one; only a Forgetting may take lines out of it, in its own transaction.
    """

    class Kind(models.TextChoices):
        APPEND = "append"
        REPLACE = "replace"
        DELETE = "delete"

    class Source(models.TextChoices):
        TOOL = "tool", "the model, by a tool"
        FLUSH = "flush", "a conversation's notes"
        PAGE = "page", "the memory page"
        ADMIN = "admin", "an admin"
        FILE = "file", "a file in the folder"
        API = "api", "the API"
        UNDO = "undo", "undo"
        IMPORT = "import", "an import"
        FORGET = "forget", "forgetting"

    # Composite foreign key (space, document) in the migration: a revision cannot point into another space.
    space = models.ForeignKey(Space, on_delete=models.CASCADE, related_name="+")
    document = models.ForeignKey(MemoryDocument, on_delete=models.CASCADE, related_name="revisions")
    # 1, 2, 3 … without a gap; the document's version after it.
    number = models.PositiveIntegerField()
    kind = models.CharField(max_length=10, choices=Kind)
    source = models.CharField(max_length=10, choices=Source)
    author = models.ForeignKey(User, on_delete=models.SET_NULL, null=True, blank=True, related_name="+")
    message = models.ForeignKey(Message, on_delete=models.SET_NULL, null=True, blank=True, related_name="+")
    # Why, in a few words that a person understands.
    reason = models.CharField(max_length=200, blank=True)
    # What changed, as hunks over content.split("\n"), by descending line, applied in order:
    # [{"at": 0-based line, "removed": [lines], "added": [lines]}]
    hunks = models.JSONField(default=list)
    content_hash = models.CharField(max_length=64)
    # An operation that carries a key happens once: a tool call, a flush. Unique within the space.
    operation_key = models.CharField(max_length=120, null=True, blank=True)
    created_at = models.DateTimeField(default=timezone.now)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["document", "number"], name="revision_number_once"),
            models.UniqueConstraint(
                fields=["space", "operation_key"],
                condition=Q(operation_key__isnull=False),
                name="operation_happens_once",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.document} version {self.number}"


class FlushQuerySet(models.QuerySet["Flush"]):
    def visible_to(self, user: User) -> "FlushQuerySet":
        return self.filter(owner=user)

    def finished(self) -> "FlushQuerySet":
        return self.filter(status__in=[Flush.Status.DONE, Flush.Status.NOTHING])

    def open(self) -> "FlushQuerySet":
        return self.filter(status__in=[Flush.Status.QUEUED, Flush.Status.RUNNING])

    def due(self, now: dt.datetime | None = None) -> "FlushQuerySet":
        """To be taken up by whoever comes first: queued and due, or claimed by somebody who has not come back."""
        now = now or timezone.now()
        waiting = Q(status=Flush.Status.QUEUED, due_at__lte=now)
        return self.filter(waiting | Q(status=Flush.Status.RUNNING, lease_until__lt=now)).order_by("due_at")


class Flush(models.Model):
    """Durable notes from one range of a session's messages, within one local day of its owner."""

    class Status(models.TextChoices):
        QUEUED = "queued"
        RUNNING = "running"
        DONE = "done"
        # The model found nothing worth keeping; the range counts as covered.
        NOTHING = "nothing"

    # Composite foreign keys (owner, session) and (owner, space) in the migration: the notes of one person's
    # conversation cannot go into the space of another.
    owner = models.ForeignKey(User, on_delete=models.CASCADE, related_name="+")
    session = models.ForeignKey(ChatSession, on_delete=models.CASCADE, related_name="flushes")
    space = models.ForeignKey(Space, on_delete=models.CASCADE, related_name="+")
    # Covers messages with after_seq < seq <= through_seq. Known once claimed.
    after_seq = models.PositiveBigIntegerField(null=True, blank=True)
    through_seq = models.PositiveBigIntegerField(null=True, blank=True)
    # The day of the owner whose log it writes.
    day = models.DateField(null=True, blank=True)
    status = models.CharField(max_length=10, choices=Status, default=Status.QUEUED)
    # Which trigger asked: switched, day_changed, ended, left, idle, compaction, shell.
    reason = models.CharField(max_length=20)
    # The claim: whoever holds this token may finish; a later claim has another one.
    token = models.UUIDField(null=True, blank=True)
    lease_until = models.DateTimeField(null=True, blank=True)
    attempts = models.PositiveIntegerField(default=0)
    # Not before this moment: after a failure, later and later.
    due_at = models.DateTimeField(default=timezone.now)
    error = models.TextField(blank=True)
    # False: the model could not be had, and an extract of what was said stands in for its notes.
    summarised = models.BooleanField(default=True)
    revision = models.ForeignKey(MemoryRevision, on_delete=models.SET_NULL, null=True, blank=True, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)
    finished_at = models.DateTimeField(null=True, blank=True)

    objects: ClassVar[models.Manager["Flush"]] = FlushQuerySet.as_manager()

    class Meta:
        verbose_name_plural = "flushes"
        indexes = [
            models.Index(fields=["due_at"], condition=Q(status__in=["queued", "running"]), name="flushes_open"),
        ]
        constraints = [
            models.UniqueConstraint(fields=["session"], condition=Q(status="queued"), name="one_queued_flush"),
            models.UniqueConstraint(fields=["session"], condition=Q(status="running"), name="one_running_flush"),
            models.UniqueConstraint(fields=["session", "after_seq"], name="flush_ranges_start_once"),
            models.CheckConstraint(
                condition=Q(after_seq__isnull=True) | Q(through_seq__gt=F("after_seq")),
                name="flush_range_forward",
            ),
        ]

    def __str__(self) -> str:
        return f"flush of {self.session_id} ({self.after_seq}, {self.through_seq}]: {self.status}"


class ErrandQuerySet(models.QuerySet["Errand"]):
    def visible_to(self, user: User) -> "ErrandQuerySet":
        return self.filter(owner=user)

    def open(self) -> "ErrandQuerySet":
        return self.filter(finished_at=None)

    def due(self, now: dt.datetime | None = None) -> "ErrandQuerySet":
        """To be taken up by whoever comes first: due and not claimed, or claimed by somebody who has not come back."""
        now = now or timezone.now()
        unclaimed = Q(lease_until=None, due_at__lte=now)
        return self.open().filter(unclaimed | Q(lease_until__lt=now)).order_by("due_at")


class Errand(models.Model):
    """Something else to be written about a conversation, besides the notes of its day."""

    class Kind(models.TextChoices):
        # The last messages of a conversation that /new or /reset ended, in a file of their own.
        LAST_MESSAGES = "last_messages"
        # Its section in Recent Conversations.md.
        RECENT = "recent"

    # Composite foreign keys as of a flush, in the migration.
    owner = models.ForeignKey(User, on_delete=models.CASCADE, related_name="+")
    session = models.ForeignKey(ChatSession, on_delete=models.CASCADE, related_name="errands")
    space = models.ForeignKey(Space, on_delete=models.CASCADE, related_name="+")
    kind = models.CharField(max_length=20, choices=Kind)
    # It is about the messages up to this one. Grows while it waits.
    through_seq = models.PositiveBigIntegerField()
    # The claim, as of a flush.
    token = models.UUIDField(null=True, blank=True)
    lease_until = models.DateTimeField(null=True, blank=True)
    attempts = models.PositiveIntegerField(default=0)
    due_at = models.DateTimeField(default=timezone.now)
    error = models.TextField(blank=True)
    created_at = models.DateTimeField(default=timezone.now)
    finished_at = models.DateTimeField(null=True, blank=True)

    objects: ClassVar[models.Manager["Errand"]] = ErrandQuerySet.as_manager()

    class Meta:
        indexes = [models.Index(fields=["due_at"], condition=Q(finished_at=None), name="errands_open")]
        constraints = [
            models.UniqueConstraint(fields=["session", "kind"], condition=Q(finished_at=None), name="one_open_errand"),
        ]

    def __str__(self) -> str:
        return f"{self.kind} of {self.session_id} up to {self.through_seq}"


class EmbeddingModel(models.Model):
    """A model that makes vectors, as its provider names it."""

    # Made of the name, so that nobody has to look it up.
    id = models.BigIntegerField(primary_key=True)
    name = models.CharField(max_length=400, unique=True)
    # Why it makes none at the moment, in a sentence for people; empty when all is well.
    error = models.TextField(blank=True)

    def __str__(self) -> str:
        return self.name


class MemoryChunk(models.Model):
    """A searchable unit of a document: a line of talk, a bullet, a short paragraph. Its neighbours are ordinal ± 1."""

    # Composite foreign key (space, document) in the migration: a chunk cannot point into another space.
    space = models.ForeignKey(Space, models.DO_NOTHING, related_name="+", db_constraint=False, db_index=False)
    document = models.ForeignKey(
        MemoryDocument, models.DO_NOTHING, related_name="chunks", db_constraint=False, db_index=False
    )
    # 0, 1, 2 … in the order of the document.
    ordinal = models.PositiveIntegerField()
    # Lines of the document, counted from 1, both included.
    start_line = models.PositiveIntegerField()
    end_line = models.PositiveIntegerField()
    heading = models.TextField(blank=True)
    text = models.TextField()
    # The first 8 bytes of the hash of what is embedded: by it a chunk finds its vector.
    text_key = models.BigIntegerField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["document", "ordinal"], name="chunk_ordinal_once")]

    def __str__(self) -> str:
        return f"{self.document_id}:{self.start_line}-{self.end_line}"


class DocumentIndex(models.Model):
    """What a search reads of one document: the terms and the layout of all its units, packed (memory/packing.py)."""

    document = models.OneToOneField(
        MemoryDocument, models.DO_NOTHING, primary_key=True, related_name="index", db_constraint=False
    )
    # Composite foreign key (space, document) in the migration, as above.
    space = models.ForeignKey(Space, models.DO_NOTHING, related_name="+", db_constraint=False)
    # The document's version that was indexed, and the layout of `data`.
    version = models.PositiveIntegerField()
    layout = models.PositiveSmallIntegerField()
    units = models.PositiveIntegerField()
    data = models.BinaryField()
    # The signs of each unit's vector by the model below, in the units' order: a large space is scanned by them.
    bits = models.BinaryField(null=True)
    # The model that has embedded every unit; None while some wait.
    embedded_by = models.ForeignKey(EmbeddingModel, models.SET_NULL, null=True, blank=True, related_name="+")

    def __str__(self) -> str:
        return f"index of {self.document_id} at version {self.version}"


class TranscriptIndex(models.Model):
    """What a search reads of one conversation, as DocumentIndex; and what is still to be done for it."""

    # Composite foreign keys (owner, session) and (owner, space) in the migration: nobody's words get into the space of
    # another.
    owner = models.ForeignKey(User, models.CASCADE, related_name="+")
    session = models.OneToOneField(ChatSession, models.CASCADE, related_name="transcript_index")
    space = models.ForeignKey(Space, models.CASCADE, related_name="+")
    # The messages up to this one are in it.
    through_seq = models.PositiveBigIntegerField(default=0)
    # Not to be made anew before this moment: something was said a moment ago. None: nothing is to be done.
    due_at = models.DateTimeField(null=True, blank=True)
    layout = models.PositiveSmallIntegerField(default=0)
    units = models.PositiveIntegerField(default=0)
    data = models.BinaryField(default=bytes)
    # As of a document's.
    bits = models.BinaryField(null=True)
    # The model that has embedded every unit; None while some wait.
    embedded_by = models.ForeignKey(EmbeddingModel, models.SET_NULL, null=True, blank=True, related_name="+")

    class Meta:
        indexes = [models.Index(fields=["due_at"], condition=Q(due_at__isnull=False), name="transcripts_due")]

    def __str__(self) -> str:
        return f"index of {self.session_id} through {self.through_seq}"


class TranscriptChunk(models.Model):
    """A searchable unit of a message, as MemoryChunk."""

    index = models.ForeignKey(TranscriptIndex, models.CASCADE, related_name="chunks", db_index=False)
    ordinal = models.PositiveIntegerField()
    # Lines of the transcript as it is read (memory/transcripts.py), counted from 1, both included.
    start_line = models.PositiveIntegerField()
    end_line = models.PositiveIntegerField()
    text = models.TextField()
    text_key = models.BigIntegerField()
    # Of the message: its place, who said it, and when.
    seq = models.PositiveBigIntegerField()
    role = models.CharField(max_length=10, choices=Message.Role)
    at = models.DateTimeField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["index", "ordinal"], name="said_ordinal_once")]

    def __str__(self) -> str:
        return f"{self.index_id}:{self.start_line}-{self.end_line}"


class TextVector(models.Model):
    """The vector that a model gave to a text, kept once for each space in which the text stands."""

    space = models.ForeignKey(Space, models.CASCADE, related_name="+", db_index=False)
    model = models.ForeignKey(EmbeddingModel, models.CASCADE, related_name="+", db_index=False)
    text_key = models.BigIntegerField()
    vector = HalfVectorField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["space", "model", "text_key"], name="vector_once")]

    def __str__(self) -> str:
        return f"{self.text_key} by {self.model_id}"


class ForgettingQuerySet(models.QuerySet["Forgetting"]):
    def visible_to(self, user: User) -> "ForgettingQuerySet":
        """What the person forgot, and what anybody forgot in a space of theirs."""
        return self.filter(Q(author=user) | Q(space__members__user=user)).distinct()

    def unfinished(self) -> "ForgettingQuerySet":
        return self.filter(finished_at=None)


class Forgetting(models.Model):
    """One act of forgetting in a space: its receipt. It holds how much went and hashes, never the text."""

    space = models.ForeignKey(Space, on_delete=models.CASCADE, related_name="forgettings")
    author = models.ForeignKey(User, on_delete=models.SET_NULL, null=True, blank=True, related_name="+")
    created_at = models.DateTimeField(default=timezone.now)
    # How much went, by what it was: {"lines": 2, "chunks": 2, …}
    counts = models.JSONField(default=dict)
    # The keyed hashes of the lines (memory/forgotten.py).
    hashes = models.JSONField(default=list)
    # The transaction that made it: in this one, and in no other, lines may be taken out of revisions of the space.
    transaction = models.BigIntegerField(db_default=models.expressions.RawSQL("pg_current_xact_id()::text::bigint", ()))
    # When files, and answers that were being written at that moment, were cleaned as well; the sweep sees to it.
    finished_at = models.DateTimeField(null=True, blank=True)

    objects: ClassVar[models.Manager["Forgetting"]] = ForgettingQuerySet.as_manager()

    class Meta:
        indexes = [models.Index(fields=["created_at"], condition=Q(finished_at=None), name="forgettings_open")]

    def __str__(self) -> str:
        return f"forgetting {self.pk} in space {self.space_id}"


class ForgottenLine(models.Model):
    """The keyed hash of the words of a line that must not be learnt again (memory/forgotten.py)."""

    space = models.ForeignKey(Space, on_delete=models.CASCADE, related_name="+")
    hash = models.CharField(max_length=64)
    # How many words it has, and whether only a line of just these words is meant, not also one that contains them.
    words = models.PositiveIntegerField()
    whole = models.BooleanField()
    created_at = models.DateTimeField(default=timezone.now)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["space", "hash"], name="forgotten_line_once")]

    def __str__(self) -> str:
        return f"{self.words} forgotten words in space {self.space_id}"


class DecisionQuerySet(models.QuerySet["Decision"]):
    def visible_to(self, user: User) -> "DecisionQuerySet":
        return self.filter(revision__space__members__user=user)

    def undecided(self) -> "DecisionQuerySet":
        return self.filter(decided_at=None)


class Decision(models.Model):
    """A question to the person about what was just saved: what may stay. memory/decisions.py asks and answers it.

    It holds no words of memory: what it asks about is found in the document and the revision.
    """

    class Kind(models.TextChoices):
        # The saved lines say otherwise than an older line of the same document.
        CONTRADICTION = "contradiction"
        # A secret was masked in what was saved.
        SECRET = "secret"  # noqa: S105 - a word, not one

    class Choice(models.TextChoices):
        BOTH = "both", "Keep both"
        NEW = "new", "Keep the new"
        OLD = "old", "Keep the old"
        MASKED = "masked", "Keep it masked"
        AS_SAID = "as_said", "Save it as it was said"
        REMOVE = "remove", "Remove the line"

    # The change that saved it.
    revision = models.ForeignKey(MemoryRevision, on_delete=models.CASCADE, related_name="decisions")
    kind = models.CharField(max_length=20, choices=Kind)
    # Of a contradiction, the older text: how many lines, the hash of them, and where they stood, counted from 0.
    lines = models.PositiveIntegerField(default=0)
    lines_hash = models.CharField(max_length=64, blank=True)
    line = models.PositiveIntegerField(default=0)
    created_at = models.DateTimeField(default=timezone.now)
    # What the person chose, and the change that it made, if it made one.
    choice = models.CharField(max_length=20, choices=Choice, blank=True)
    decided_at = models.DateTimeField(null=True, blank=True)
    outcome = models.ForeignKey(MemoryRevision, on_delete=models.SET_NULL, null=True, blank=True, related_name="+")

    objects: ClassVar[models.Manager["Decision"]] = DecisionQuerySet.as_manager()

    class Meta:
        indexes = [models.Index(fields=["created_at"], condition=Q(decided_at=None), name="decisions_open")]
        constraints = [
            models.UniqueConstraint(fields=["revision", "kind", "lines_hash"], name="decision_asked_once"),
            models.CheckConstraint(
                condition=Q(decided_at=None, choice="") | (Q(decided_at__isnull=False) & ~Q(choice="")),
                name="decision_has_a_choice",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.kind} of revision {self.revision_id}: {self.choice or 'open'}"

    @property
    def is_open(self) -> bool:
        return self.decided_at is None


class AgentSpace(models.Model):
    """The space in which an agent with a memory of its own remembers one person."""

    space = models.OneToOneField(Space, on_delete=models.CASCADE, primary_key=True, related_name="of_agent")
    # None once the agent is gone: what it remembered stays its person's.
    agent = models.ForeignKey(Agent, on_delete=models.SET_NULL, null=True, related_name="memories")
    # Composite foreign key (owner, space) in the migration: nobody's agent remembers in somebody else's space.
    owner = models.ForeignKey(User, on_delete=models.CASCADE, related_name="+")

    class Meta:
        constraints = [models.UniqueConstraint(fields=["agent", "owner"], name="agent_remembers_a_person_once")]

    def __str__(self) -> str:
        return f"memory of agent {self.agent_id} for {self.owner_id}"


class Upload(models.Model):
    """What a person has uploaded to import and not yet confirmed. One a person; the sweep takes old ones away."""

    owner = models.OneToOneField(User, on_delete=models.CASCADE, related_name="+")
    # A new one with each upload, so that an old page confirms nothing.
    token = models.UUIDField(default=uuid.uuid4)
    name = models.CharField(max_length=200)
    data = models.BinaryField()
    created_at = models.DateTimeField(default=timezone.now)

    def __str__(self) -> str:
        return f"upload of {self.owner}"


class SwitchChoice(models.Model):
    """A person's choice about a part of their memory; the newest one counts (memory/switches.py). Earlier ones say when
    it was off, so that what was said then stays out of memory."""

    class Switch(models.TextChoices):
        # MEMORY.md, the notes of each day, and what /new and /reset keep.
        SAVED = "saved", "Saved memory"
        # Recent Conversations.md.
        RECENT = "recent", "Recent conversations"
        # What is looked up by itself when a conversation begins.
        RECALL = "recall", "Recall"
        # What was said, word for word.
        TRANSCRIPTS = "transcripts", "Transcripts"

    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="+")
    switch = models.CharField(max_length=20, choices=Switch)
    on = models.BooleanField()
    at = models.DateTimeField(default=timezone.now)

    class Meta:
        indexes = [models.Index(fields=["user", "switch", "-id"], name="newest_choice")]

    def __str__(self) -> str:
        return f"{self.switch} {'on' if self.on else 'off'} for {self.user_id}"
