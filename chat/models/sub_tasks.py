"""Sub-sessions that a conversation's model began, and messages that it sent to other conversations."""

import datetime as dt
from typing import ClassVar

from django.db import models
from django.db.models import Exists, OuterRef, Q
from django.db.models.functions import Now

from chat.models.conversations import ChatSession, Message
from chat.models.turns import Turn
from oneclaw.models import User, clock
from oneclaw.reasons import ReasonField


class SubTaskQuerySet(models.QuerySet["SubTask"]):
    def visible_to(self, user: User) -> "SubTaskQuerySet":
        return self.filter(owner=user, parent__deleted_at=None)

    def running(self) -> "SubTaskQuerySet":
        return self.filter(state=SubTask.State.RUNNING)

    def shown(self) -> "SubTaskQuerySet":
        """Return those whose calls are on the shown branch of their parent, oldest first."""
        return self.filter(answer__active=True).order_by("pk")

    def unread(self) -> "SubTaskQuerySet":
        """Return those that have ended, and whose result no message on the shown branch has brought to their parent."""
        ended = self.shown().exclude(state=SubTask.State.RUNNING)
        # What a turn was to bring that was interrupted, or a message whose context was not stored, may be lost.
        of_call = Q(brought_with__role=Message.Role.ASSISTANT) & ~Q(brought_with__turn__status="interrupted")
        arrived = of_call | Q(brought_with__meta__has_key="context")
        return ended.exclude(pk__in=SubTask.objects.filter(arrived, brought_with__active=True))


class SubTask(models.Model):
    """A task that the model of a conversation gave to a sub-session, by one call of a tool.

    The task is the first message of the sub-session, and its result the last answer there: the words are kept once.
    """

    class State(models.TextChoices):
        RUNNING = "running"
        DONE = "done"
        FAILED = "failed"
        STOPPED = "stopped"

    # A composite foreign key (owner, session) in the migration, and one (owner, parent): a sub-session of one person
    # cannot be of the conversation of another.
    owner = models.ForeignKey(User, on_delete=models.CASCADE, related_name="+", db_index=False)
    # The turn and the answer with the call, and the API's id of the call. A repeated call finds its row by them.
    turn = models.ForeignKey(Turn, on_delete=models.CASCADE, related_name="sub_tasks", db_index=False)
    answer = models.ForeignKey(Message, on_delete=models.CASCADE, related_name="+")
    tool_use_id = models.CharField(max_length=200)
    # The conversation with the call, and the sub-session.
    parent = models.ForeignKey(ChatSession, on_delete=models.CASCADE, related_name="sub_tasks")
    session = models.OneToOneField(ChatSession, on_delete=models.CASCADE, related_name="sub_task")
    # The turn of an ordinary conversation that this sub-session, or the one that began it, belongs to. All sub-sessions
    # of a root turn share its tokens.
    root_turn = models.ForeignKey(Turn, on_delete=models.CASCADE, related_name="sub_tasks_below")
    # 1 for a sub-session of an ordinary conversation.
    depth = models.PositiveSmallIntegerField()
    state = models.CharField(max_length=10, choices=State, default=State.RUNNING)
    # Why it failed.
    error = ReasonField()
    # Tokens that its requests read and wrote, once it has ended, and those that its tree may use.
    tokens = models.PositiveBigIntegerField(default=0)
    token_budget = models.PositiveBigIntegerField()
    # When it is stopped if it still runs.
    deadline = models.DateTimeField()
    # The message of the parent with which the model got the result: the answer that waited for it, or the next message.
    brought_with = models.ForeignKey(Message, on_delete=models.SET_NULL, null=True, blank=True, related_name="+")
    created_at = models.DateTimeField(db_default=Now())
    finished_at = models.DateTimeField(null=True, blank=True)

    objects: ClassVar[models.Manager["SubTask"]] = SubTaskQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["turn", "tool_use_id"], name="one_sub_task_per_call"),
            models.CheckConstraint(
                condition=Q(state="running", finished_at=None) | ~Q(state="running") & Q(finished_at__isnull=False),
                name="sub_task_ended_iff_not_running",
            ),
        ]
        indexes = [
            models.Index(fields=["owner", "created_at"], name="sub_tasks_of_day"),
            models.Index(fields=["deadline"], condition=Q(state="running"), name="sub_tasks_running"),
        ]

    def __str__(self) -> str:
        return f"sub-task {self.pk} of {self.parent_id}: {self.state}"

    @property
    def is_running(self) -> bool:
        return self.state == self.State.RUNNING


class RelayedMessageQuerySet(models.QuerySet["RelayedMessage"]):
    def queued(self) -> "RelayedMessageQuerySet":
        return self.filter(state=RelayedMessage.State.QUEUED)

    def overdue(self) -> "RelayedMessageQuerySet":
        """Return the queued ones that are not delivered any more."""
        return self.queued().filter(deadline__lt=clock.database_now())

    def left(self) -> "RelayedMessageQuerySet":
        """Return the queued ones that the process which stored them would have delivered by now: it has died."""
        stored_before = clock.database_now() - dt.timedelta(seconds=RelayedMessage.LEFT_SECONDS)
        answered = Exists(Turn.objects.running().filter(session=OuterRef("target")))
        return self.queued().filter(created_at__lt=stored_before).exclude(answered).order_by("pk")


class RelayedMessage(models.Model):
    """A message that the model of a conversation sent to another conversation of the same person."""

    # A process delivers what it has stored at once, or within a second after the end of an answer.
    LEFT_SECONDS: ClassVar[int] = 5

    class State(models.TextChoices):
        QUEUED = "queued"
        DELIVERED = "delivered"
        # The conversation was busy for too long, or deleted.
        FAILED = "failed"

    owner = models.ForeignKey(User, on_delete=models.CASCADE, related_name="+", db_index=False)
    # The call that sent it.
    turn = models.ForeignKey(Turn, on_delete=models.CASCADE, related_name="relayed_messages", db_index=False)
    answer = models.ForeignKey(Message, on_delete=models.CASCADE, related_name="+")
    tool_use_id = models.CharField(max_length=200)
    target = models.ForeignKey(ChatSession, on_delete=models.CASCADE, related_name="+")
    # Empty once it is delivered: then the message has it.
    text = models.TextField(blank=True)
    message = models.ForeignKey(Message, on_delete=models.SET_NULL, null=True, blank=True, related_name="+")
    # How many conversations it has passed, one after another, since a person's message.
    hops = models.PositiveSmallIntegerField()
    state = models.CharField(max_length=10, choices=State, default=State.QUEUED)
    # Until when it waits for a conversation that is busy.
    deadline = models.DateTimeField()
    created_at = models.DateTimeField(db_default=Now())

    objects: ClassVar[models.Manager["RelayedMessage"]] = RelayedMessageQuerySet.as_manager()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["turn", "tool_use_id"], name="one_relayed_message_per_call")]
        indexes = [
            models.Index(fields=["owner", "created_at"], name="relayed_of_minute"),
            models.Index(fields=["deadline"], condition=Q(state="queued"), name="relayed_queued"),
        ]

    def __str__(self) -> str:
        # Without its text, which is private.
        return f"message of {self.turn_id} to {self.target_id}: {self.state}"
