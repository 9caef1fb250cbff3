"""Define context rounds: recorded changes of what the model is sent for a conversation, each of which can be undone."""

from typing import Any, ClassVar, Self

from django.conf import settings
from django.db import models
from django.db.models import F, Func, Q

from chat.models.conversations import ChatSession, Message
from oneclaw.jobs import OPEN_STATUSES, Job, JobQuerySet


class ContextRoundQuerySet(JobQuerySet["ContextRound"]):
    """Context rounds, by their part in the requests of a conversation."""

    def unused(self) -> Self:
        """Return the finished rounds that no request was made with yet."""
        return self.filter(status=Job.Status.DONE, used_at=None, undone_at=None)

    def usable(self) -> Self:
        """Return the finished rounds whose last message is on the shown branch, oldest first, without undone ones."""
        return self.filter(status=Job.Status.DONE, undone_at=None, through__active=True).order_by("number")

    def in_use(self) -> Self:
        """Return the usable rounds that the last request of their conversation was made with, oldest first."""
        number = Func(F("number"), function="to_jsonb", output_field=models.JSONField())
        return self.usable().filter(session__used_rounds__contains=number)

    def for_readers(self, session: ChatSession) -> Self:
        """Return those of `session` that everybody who sees it may read: of a shared one, the ones made since then."""
        return self.filter(created_at__gte=session.shared_at) if session.shared_at is not None else self.all()

    def summaries(self) -> Self:
        """Return the rounds that replace older messages by a summary."""
        return self.filter(kind=ContextRound.Kind.COMPACT)


class ContextRound(Job):
    """One change of what the model is sent: a summary in place of older messages, or shortened results of tools.

    A worker makes it in the background, and the first request of a later turn begins to use it. The messages
    themselves never change. A round is valid on the branches that contain its last message.
    """

    class Kind(models.TextChoices):
        COMPACT = "compact", "a summary replaces older messages"
        PRUNE = "prune", "older results of tools are shortened"

    class Reason(models.TextChoices):
        THRESHOLD = "threshold", "the conversation nears the size of the window"
        MESSAGES = "messages", "the conversation has many messages"
        OVERFLOW = "overflow", "the model's server said that it is too long"
        COMMAND = "command", "its owner asked for it"
        PAUSE = "pause", "the provider's cache had expired"

    class Maker(models.TextChoices):
        API = "api", "the model's server"
        MODEL = "model", "the fast model"
        EXTRACT = "extract", "no model: the first words of messages"
        PERSON = "person", "its owner, who changed it"

    class State(models.TextChoices):
        MAKING = "making", "it is being made"
        READY = "ready", "it is finished, and no request was made with it yet"
        USED = "used", "requests are made with it, on the branches that contain its last message"
        UNDONE = "undone", "its owner undid it"
        SUPERSEDED = "superseded", "another round replaced it before it was used"
        STOPPED = "stopped", "it was stopped, or nothing was left to do"
        FAILED = "failed", "every attempt failed"

    LEASE_SECONDS: ClassVar[float] = settings.LEASES.round_seconds
    TASK: ClassVar[str] = "chat.tasks.make_round"
    # After the first few an extract takes the place of the summary: it needs no model, so the last fail by a defect.
    MAX_ATTEMPTS: ClassVar[int] = 8

    # A composite foreign key (owner, session) in the migration: a round of one person cannot be of the session of
    # another.
    session = models.ForeignKey(ChatSession, on_delete=models.CASCADE, related_name="context_rounds", db_index=False)
    # 1, 2, 3 … in the conversation.
    number = models.PositiveIntegerField()
    kind = models.CharField(max_length=10, choices=Kind)
    reason = models.CharField(max_length=10, choices=Reason)
    # The last message that it covers. The one after it is a person's.
    through = models.ForeignKey(Message, on_delete=models.CASCADE, related_name="context_rounds")
    # What the person wants the summary to keep especially.
    focus = models.TextField(blank=True)
    # Of a round that prunes: {tool_use id: "trim" or "clear"}.
    decisions = models.JSONField(default=dict, blank=True)
    summary = models.TextField(blank=True)
    maker = models.CharField(max_length=10, choices=Maker, blank=True)
    # The signed block of the API, as it was returned; None for summaries of other makers.
    block = models.JSONField(null=True, blank=True)
    # What is kept word for word with the summary (chat/compaction/supplement.py).
    supplement = models.JSONField(default=dict, blank=True)
    # What the model is sent in place of the messages: the summary and the supplement, as they were worded then; with
    # a block of the API, the supplement alone, before the next message of the person.
    text = models.TextField(blank=True)
    # [messages that were read, the summary so far] while a long range is read in parts, so that another worker goes on
    # after them; else empty.
    steps = models.JSONField(default=list, blank=True)
    # When the hooks were asked about it first (chat/extensions/run_hooks.py).
    asked_at = models.DateTimeField(null=True, blank=True)
    # What was noticed while it was made: codes of chat/compaction/checks.py.
    checks = models.JSONField(default=list, blank=True)
    # The estimated tokens of a request before and after.
    tokens_before = models.PositiveIntegerField(default=0)
    tokens_after = models.PositiveIntegerField(default=0)
    # When the first request was made with it, the last message before that request, and when its owner undid it.
    used_at = models.DateTimeField(null=True, blank=True)
    used_after_seq = models.PositiveBigIntegerField(default=0)
    undone_at = models.DateTimeField(null=True, blank=True)
    # The client_id of the command that undid it: sent again, it undoes no other one.
    undo_key = models.UUIDField(null=True, blank=True)

    objects: ClassVar[models.Manager[Any]] = ContextRoundQuerySet.as_manager()

    class Meta(Job.Meta):
        constraints = [
            models.UniqueConstraint(fields=["session", "number"], name="one_context_round_per_number"),
            models.UniqueConstraint(
                fields=["session"],
                condition=Q(status__in=OPEN_STATUSES) | Q(status="done", used_at=None, undone_at=None),
                name="one_open_context_round",
            ),
        ]

    def __str__(self) -> str:
        return f"context round {self.number} of {self.session_id}: {self.kind}, {self.status}"

    @property
    def state(self) -> State:
        """Return what has become of it."""
        # A code of chat/compaction/checks.py.
        if "superseded" in self.checks:
            return self.State.SUPERSEDED
        match self.status:
            case Job.Status.QUEUED | Job.Status.RUNNING:
                return self.State.MAKING
            case Job.Status.FAILED:
                return self.State.FAILED
            case Job.Status.NOTHING:
                return self.State.STOPPED
        if self.undone_at is not None:
            return self.State.UNDONE
        return self.State.READY if self.used_at is None else self.State.USED

    @property
    def may_be_edited(self) -> bool:
        """Say whether it has a summary that the model reads or will read."""
        return self.kind == self.Kind.COMPACT and self.state in (self.State.READY, self.State.USED)

    @property
    def may_be_undone(self) -> bool:
        """Say whether it is used, will be used, or is being made."""
        return self.state in (self.State.MAKING, self.State.READY, self.State.USED)
