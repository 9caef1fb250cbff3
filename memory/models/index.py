"""Define the search index: chunks, their terms, their vectors."""

from typing import ClassVar

from django.db import models
from django.db.models import Q
from pgvector.django import HalfVectorField

from chat.models import ChatSession, Message
from memory.models.documents import MemoryDocument
from oneclaw.models import Space, User
from oneclaw.reasons import ReasonField


class EmbeddingModel(models.Model):
    """An embedding model by its name, or a server's model by its name and width (memory/index/models.py)."""

    # Computed from the name, so that no lookup is needed.
    id = models.BigIntegerField(primary_key=True)
    name = models.CharField(max_length=400, unique=True)
    # Why it makes no vectors at the moment; NULL if it works.
    error = ReasonField()
    # The current number of dimensions of a server's vectors; 0: not known yet.
    width = models.PositiveIntegerField(default=0)

    def __str__(self) -> str:
        return self.name


class MemoryChunk(models.Model):
    """A chunk of a document: a line of a dialogue, a list item, a paragraph. Its neighbours: ordinal ± 1."""

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
    # The key of its vector: the first 8 bytes of the hash of the text to embed.
    text_key = models.BigIntegerField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["document", "ordinal"], name="chunk_ordinal_once")]


class DocumentIndex(models.Model):
    """The packed chunks and terms of one document, as a search reads them (memory/text/index_format.py)."""

    document = models.OneToOneField(
        MemoryDocument, models.DO_NOTHING, primary_key=True, related_name="index", db_constraint=False
    )
    # Composite foreign key (space, document) in the migration, like that of MemoryChunk.
    space = models.ForeignKey(Space, models.DO_NOTHING, related_name="+", db_constraint=False)
    # The document's version that was indexed, and the layout of `data`.
    version = models.PositiveIntegerField()
    layout = models.PositiveSmallIntegerField()
    units = models.PositiveIntegerField()
    data = models.BinaryField()
    # The signs of each chunk's vector by `embedded_by`, in the chunks' order, for the scan of a large space.
    bits = models.BinaryField(null=True)
    # The model that has embedded every chunk; None while vectors are missing.
    embedded_by = models.ForeignKey(EmbeddingModel, models.SET_NULL, null=True, blank=True, related_name="+")

    class Meta:
        indexes = [models.Index(fields=["layout"], name="index_layout")]


class TranscriptIndex(models.Model):
    """The packed chunks and terms of one conversation, like DocumentIndex, and when they are to be built again."""

    # A composite foreign key (owner, session) and a trigger in the migrations: the words of a conversation get into the
    # own space of its owner, or into the space with which it is shared.
    owner = models.ForeignKey(User, models.CASCADE, related_name="+")
    session = models.OneToOneField(ChatSession, models.CASCADE, related_name="transcript_index")
    space = models.ForeignKey(Space, models.CASCADE, related_name="+")
    # It covers the messages up to this one.
    through_seq = models.PositiveBigIntegerField(default=0)
    # When to build it again, after a debounce. None: it is up to date.
    due_at = models.DateTimeField(null=True, blank=True)
    layout = models.PositiveSmallIntegerField(default=0)
    units = models.PositiveIntegerField(default=0)
    data = models.BinaryField(default=bytes)
    # The signs of each chunk's vector by `embedded_by`, in the chunks' order.
    bits = models.BinaryField(null=True)
    # The model that has embedded every chunk; None while vectors are missing.
    embedded_by = models.ForeignKey(EmbeddingModel, models.SET_NULL, null=True, blank=True, related_name="+")

    class Meta:
        indexes = [models.Index(fields=["due_at"], condition=Q(due_at__isnull=False), name="transcripts_due")]


class TranscriptChunk(models.Model):
    """A chunk of a message of a transcript, or of a file that was attached to the message."""

    # The role of the chunks of a file.
    OF_FILE: ClassVar[str] = "file"

    index = models.ForeignKey(TranscriptIndex, models.CASCADE, related_name="chunks", db_index=False)
    ordinal = models.PositiveIntegerField()
    # Lines of the transcript as it is read (memory/index/transcripts.py), counted from 1, both included.
    start_line = models.PositiveIntegerField()
    end_line = models.PositiveIntegerField()
    text = models.TextField()
    text_key = models.BigIntegerField()
    # The attached file that it is of, whose lines these are then; None: of the message itself. Without a constraint:
    # the index is built again when the message goes.
    file_id = models.UUIDField(null=True, blank=True)
    # The position, author and time of the message.
    seq = models.PositiveBigIntegerField()
    role = models.CharField(max_length=10, choices=Message.Role)
    at = models.DateTimeField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["index", "ordinal"], name="said_ordinal_once")]


class TextVector(models.Model):
    """The vector of a text by a model, stored once for each space that contains the text."""

    space = models.ForeignKey(Space, models.CASCADE, related_name="+", db_index=False)
    model = models.ForeignKey(EmbeddingModel, models.CASCADE, related_name="+", db_index=False)
    text_key = models.BigIntegerField()
    vector = HalfVectorField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["space", "model", "text_key"], name="vector_once")]
