"""Conversations with their folders and messages."""

import datetime as dt
import uuid
from typing import Any, ClassVar

from django.db import models
from django.db.models import OuterRef, Q, Subquery
from django.db.models.fields.json import KT
from django.db.models.functions import Cast, Now
from django.utils import timezone
from django.utils.translation import gettext

from chat.models.agents import Agent, Effort, MemoryChoice
from chat.models.heads import Head
from chat.models.routes import SessionRoute
from chat.models.sharing import legal_holds, visibility
from chat.models.turns import AnswerStatus, Turn
from oneclaw.models import Space, User


def name_of(title: str) -> str:
    """Return the title that the owner of a conversation sees."""
    return title or gettext("New conversation")


class ChatSessionQuerySet(models.QuerySet["ChatSession"]):
    # Who may see, continue and manage a session: chat/models/sharing/visibility.py.
    def visible_to(self, user: User) -> "ChatSessionQuerySet":
        return self.filter(visibility.visible(user), deleted_at=None)

    def private_to(self, user: User) -> "ChatSessionQuerySet":
        """Return the sessions that `user` alone may see."""
        return self.filter(visibility.private(user), deleted_at=None)

    def shared_with(self, user: User) -> "ChatSessionQuerySet":
        """Return the sessions that are shared with a space of `user`."""
        return self.filter(visibility.shared(user), deleted_at=None)

    def continued_by(self, user: User) -> "ChatSessionQuerySet":
        """Return the sessions that `user` may write in."""
        return self.filter(visibility.continued(user), deleted_at=None)

    def managed_by(self, user: User) -> "ChatSessionQuerySet":
        """Return the sessions that `user` may rename, move, unshare and delete; also deleted ones."""
        return self.filter(visibility.managed(user))

    def held(self) -> "ChatSessionQuerySet":
        """Return the sessions of which a legal hold keeps everything."""
        return self.filter(legal_holds.sessions())

    def not_held(self) -> "ChatSessionQuerySet":
        return self.exclude(legal_holds.sessions())

    def listed(self) -> "ChatSessionQuerySet":
        """Return the sessions of the sidebar, newest activity first: without archived, temporary and empty ones."""
        return self.written().filter(archived_at=None)

    def written(self) -> "ChatSessionQuerySet":
        """Return the sessions with messages of a person, newest activity first, without temporary ones."""
        written = self.filter(kind="", last_seq__gt=0).exclude(mode=ChatSession.Mode.TEMPORARY)
        return written.order_by("-active_at", "-id")

    def last_complete_seqs(self) -> dict[uuid.UUID, int]:
        """Return the sequence number of the newest message before the first running one, 0 without any, by session."""
        running = Message.objects.filter(session=OuterRef("pk"), status=Message.Status.RUNNING).order_by("seq")
        rows = self.annotate(running=Subquery(running.values("seq")[:1])).values_list("pk", "running", "last_seq")
        return {pk: last_seq if running is None else running - 1 for pk, running, last_seq in rows}


class Folder(models.Model):
    """A named group of a person's conversations."""

    NAME_MAX_CHARS: ClassVar[int] = 60

    owner = models.ForeignKey(User, on_delete=models.CASCADE, related_name="folders", db_index=False)
    name = models.CharField(max_length=NAME_MAX_CHARS)

    class Meta:
        ordering = ["name"]
        constraints = [
            models.UniqueConstraint(fields=["owner", "name"], name="one_folder_of_a_name"),
            # The target of the composite foreign key of sessions.
            models.UniqueConstraint(fields=["owner", "id"], name="folder_of_owner"),
        ]

    def __str__(self) -> str:
        # Without its name, which is private: the admin shows this text.
        return f"folder {self.pk}"


class ChatSession(models.Model):
    """One conversation."""

    class Mode(models.TextChoices):
        AGENT = "agent", "reads and writes memory"
        CHAT = "chat", "reads memory only"
        TEMPORARY = "temporary", "no memory at all"

    class Kind(models.TextChoices):
        CONVERSATION = "", "Conversation"
        # Begun by a tool call in another conversation.
        SUB_SESSION = "sub", "Sub-session"
        # Of one scheduled turn; hidden from every list.
        BEAT = "beat", "Scheduled turn"

    class Titled(models.TextChoices):
        NOT_TITLED = "", "Nobody"
        MODEL = "model"
        PERSON = "person"

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    kind = models.CharField(max_length=4, choices=Kind, default=Kind.CONVERSATION, blank=True)
    # The session key (chat/conversations/keys.py).
    key = models.CharField(max_length=200, unique=True)
    owner = models.ForeignKey(User, on_delete=models.CASCADE, related_name="chat_sessions", db_index=False)
    # The one shared space it sees besides its owner's own, if any.
    space = models.ForeignKey(Space, on_delete=models.SET_NULL, null=True, blank=True, related_name="+", db_index=False)
    # When its owner shared it with the members of that space, who read and continue it; None: private to its owner.
    shared_at = models.DateTimeField(null=True, blank=True)
    # The messages up to this number are from before it was shared last: the model is not sent, and members are not
    # shown, what came into them from its owner's memory.
    shared_seq = models.PositiveBigIntegerField(default=0, db_default=0)
    agent = models.ForeignKey(Agent, on_delete=models.RESTRICT, related_name="sessions")
    # The model that its owner chose; empty: the agent's, or the server's (chat/conversations/model_choice.py).
    model = models.CharField(max_length=100, blank=True)
    # The effort that its owner chose for it; empty: the agent's, or the server's.
    effort = models.CharField(max_length=6, choices=Effort, blank=True)
    # The session that this one was forked from; of a sub-session, the one that began it.
    parent = models.ForeignKey("self", on_delete=models.SET_NULL, null=True, blank=True, related_name="children")
    # The route that it is or was the conversation of; the current one is SessionRoute.session.
    route = models.ForeignKey(
        SessionRoute, on_delete=models.SET_NULL, null=True, blank=True, related_name="sessions", db_index=False
    )
    mode = models.CharField(max_length=10, choices=Mode, default=Mode.AGENT)
    # Which memory it reads; without any it is not remembered either (Message.is_apart).
    memory = models.CharField(max_length=5, choices=MemoryChoice, default=MemoryChoice.ALL, db_default=MemoryChoice.ALL)
    title = models.CharField(max_length=200, blank=True)
    # Who set the title: empty (it is the first words so far), the fast model, or the person, whose title stays.
    titled_by = models.CharField(max_length=6, choices=Titled, default=Titled.NOT_TITLED, blank=True)
    # When the fast model is asked for a title next (empty: not at all), and how often it was asked.
    title_due_at = models.DateTimeField(null=True, blank=True)
    title_tries = models.PositiveSmallIntegerField(default=0)
    # The number of the newest message; counted up under this row's lock.
    last_seq = models.PositiveBigIntegerField(default=0)
    # In a fork, the messages up to this number are copies.
    copied_seq = models.PositiveBigIntegerField(default=0)
    # Of a copy of a shared link: who shared it, when, with which title, and with the members of which space alone,
    # {"name", "sharer", "at", "title", "space"}. The title and the copied messages are their words.
    copied_from = models.JSONField(null=True, blank=True)
    # The newest message that its owner has seen on a page.
    read_seq = models.PositiveBigIntegerField(default=0)
    # What stands before the messages in every request; None until the first one.
    head = models.ForeignKey(Head, on_delete=models.SET_NULL, null=True, blank=True, related_name="+")
    # Thinking of messages up to this number is not sent any more: something before it has changed. Only rises.
    thinking_after_seq = models.PositiveBigIntegerField(default=0)
    # The numbers of the rounds (chat/models/rounds.py) that the last request was made with.
    used_rounds = models.JSONField(default=list, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)
    active_at = models.DateTimeField(default=timezone.now)
    ended_at = models.DateTimeField(null=True, blank=True)
    # Pinned sessions are first in the list.
    pinned_at = models.DateTimeField(null=True, blank=True)
    folder = models.ForeignKey(Folder, on_delete=models.SET_NULL, null=True, blank=True, related_name="sessions")
    archived_at = models.DateTimeField(null=True, blank=True)
    # Hidden from every list; the rows are kept for a while, so that deletion can be undone.
    deleted_at = models.DateTimeField(null=True, blank=True)
    # The id in the program that an imported session comes from (chatgpt:…, claude:…, oneclaw:…), so that it is imported
    # once.
    origin = models.CharField(max_length=200, null=True, blank=True)

    objects: ClassVar[models.Manager["ChatSession"]] = ChatSessionQuerySet.as_manager()

    class Meta:
        indexes = [
            models.Index(fields=["owner", "-active_at"], name="session_recent"),
            models.Index(
                fields=["owner"],
                condition=Q(pinned_at__isnull=False) | Q(folder__isnull=False),
                name="session_kept_apart",
            ),
            models.Index(fields=["title_due_at"], condition=Q(title_due_at__isnull=False), name="sessions_to_name"),
            models.Index(fields=["route"], condition=Q(route__isnull=False), name="sessions_of_routes"),
            models.Index(fields=["space", "-active_at"], condition=Q(space__isnull=False), name="sessions_of_spaces"),
            models.Index(
                fields=["active_at"], condition=Q(mode="temporary", last_seq__gt=0), name="temporary_sessions"
            ),
        ]
        constraints = [
            # The target of composite foreign keys of other tables: a row of one person cannot reference the session of
            # another.
            models.UniqueConstraint(fields=["owner", "id"], name="session_of_owner"),
            models.UniqueConstraint(
                fields=["owner", "origin"], condition=Q(origin__isnull=False), name="imported_once"
            ),
            models.CheckConstraint(
                condition=Q(shared_at=None) | (Q(space__isnull=False) & ~Q(mode="temporary")),
                name="shared_with_a_space",
            ),
        ]

    def __str__(self) -> str:
        # Without its title, which is private: the admin shows this text.
        return f"conversation {self.pk}"

    def get_absolute_url(self) -> str:
        return f"/c/{self.pk}"

    @property
    def is_temporary(self) -> bool:
        return self.mode == self.Mode.TEMPORARY

    @property
    def name(self) -> str:
        """Return the title that its owner sees."""
        return name_of(self.title)

    @property
    def is_shared(self) -> bool:
        return self.shared_at is not None

    @property
    def is_unread(self) -> bool:
        """Return whether its owner has not seen its newest message."""
        return self.last_seq > self.read_seq

    @property
    def is_read_only(self) -> bool:
        """Return whether its owner cannot write in it: only a program begins and goes on with it."""
        return self.kind != self.Kind.CONVERSATION

    @property
    def copied_at(self) -> dt.datetime | None:
        """Return when the link was shared that it is a copy of; None when it is no copy of one."""
        return dt.datetime.fromisoformat(self.copied_from["at"]) if self.copied_from else None

    @property
    def context(self) -> dict[str, Any]:
        """Return what the system text quotes from documents (Head.context)."""
        return self.head.context if self.head else {}

    def last_complete_seq(self) -> int:
        """Return the sequence number of the newest message before the first running one; 0 when there is none."""
        return ChatSession.objects.filter(pk=self.pk).last_complete_seqs().get(self.pk, 0)

    def summarised_seq(self) -> int:
        """Return the sequence number of the last message that the summary in use replaces for the model; 0 without one.
        It is read from the rows, because a request in between may have begun to use a summary."""
        newest = self.context_rounds.summaries().in_use().values_list("through__seq", flat=True).last()
        return newest or 0


class MessageQuerySet(models.QuerySet["Message"]):
    def visible_to(self, user: User) -> "MessageQuerySet":
        return self.filter(visibility.visible(user, "session__"), session__deleted_at=None)

    def private_to(self, user: User) -> "MessageQuerySet":
        """Return the messages of sessions that `user` alone may see."""
        return self.filter(visibility.private(user, "session__"), session__deleted_at=None)

    def shown(self) -> "MessageQuerySet":
        """Return the messages of the shown branch, which is on the page and in the prompt, in order."""
        return self.filter(active=True).order_by("seq")

    def finished(self) -> "MessageQuerySet":
        return self.exclude(status=Message.Status.RUNNING)

    def said(self) -> "MessageQuerySet":
        """Return what the person and the assistant said."""
        return self.filter(role__in=[Message.Role.USER, Message.Role.ASSISTANT])

    def without_relayed(self) -> "MessageQuerySet":
        """Return these messages without those in the person's place that they have not written (`is_by_person`)."""
        return self.exclude(role=Message.Role.USER, by__isnull=False)


class Message(models.Model):
    """One message of a transcript. Rows are appended and never edited; only a running answer grows."""

    class Role(models.TextChoices):
        USER = "user"
        ASSISTANT = "assistant"
        # The results of tools, which the API receives as a user message.
        TOOL = "tool"
        # Words of the server to the model, which the API receives as a user message.
        NOTICE = "notice"

    Status = AnswerStatus
    # The key in `meta` of the server in ONECLAW_UPSTREAMS that has given an answer; the first server is not named.
    UPSTREAM_KEY = "upstream"
    # The key in `meta` of what its person pasted: ranges [start, end] of code points of `text`, in ascending order.
    PASTED_KEY = "pasted"
    # The key in `meta` of the peer behind a bridge who has written it, if that is not the person.
    PEER_KEY = "peer"
    # The key in `meta` of what the model's server said about an answer that has failed, for administrators.
    SERVER_SAID_KEY = "server_said"
    # The stop reasons of an answer that has become as long as it may be, which the page offers to continue.
    CUT_ENDINGS = ("max_tokens", "model_context_window_exceeded")

    session = models.ForeignKey(ChatSession, on_delete=models.CASCADE, related_name="messages", db_index=False)
    # The sequence number in the session: 1, 2, 3 … without a gap.
    seq = models.PositiveBigIntegerField()
    # The message before it on its branch; versions of one message share a parent.
    parent = models.ForeignKey("self", on_delete=models.SET_NULL, null=True, blank=True, related_name="replies")
    # Whether it is on the branch that is shown.
    active = models.BooleanField(default=True)
    # The attempt that wrote it; None for what a person wrote.
    turn = models.ForeignKey(Turn, on_delete=models.SET_NULL, null=True, blank=True, related_name="messages")
    role = models.CharField(max_length=10, choices=Role)
    # In a shared conversation, the member who wrote it; None: the owner of the session.
    author = models.ForeignKey(User, on_delete=models.SET_NULL, null=True, blank=True, related_name="+", db_index=False)
    # Whether it was stored while the conversation had no memory, so that nothing of it is remembered.
    is_apart = models.BooleanField(null=True, blank=True)
    # Made by the browser: the idempotency key of the message.
    client_id = models.UUIDField(null=True, blank=True)
    status = models.CharField(max_length=12, choices=Status, default=Status.COMPLETE)
    # The API's content blocks, and {"type": "attachment", …} for each file (Attachment.reference).
    content = models.JSONField(default=list)
    # Data apart from the API's blocks: a MessageMeta.
    meta = models.JSONField(default=dict)
    # What is queried of it, as the database computes it; a row in memory has it in `meta`.
    by = models.GeneratedField(
        expression=KT("meta__by"), output_field=models.CharField(max_length=20), db_persist=True, null=True
    )
    author_number = models.GeneratedField(
        expression=Cast(KT("meta__from__number"), models.IntegerField()),
        output_field=models.IntegerField(),
        db_persist=True,
        null=True,
    )
    # The words of the text blocks, for search and lists.
    text = models.TextField(blank=True)
    # The finished message as sanitised HTML, without the cards of failed calls, and the version of its renderer.
    html = models.TextField(blank=True)
    html_version = models.PositiveSmallIntegerField(default=0)
    model = models.CharField(max_length=100, blank=True)
    stop_reason = models.CharField(max_length=40, blank=True)
    # The API's token counts of this request.
    usage = models.JSONField(null=True, blank=True)
    created_at = models.DateTimeField(db_default=Now())
    finished_at = models.DateTimeField(null=True, blank=True)

    objects: ClassVar[models.Manager["Message"]] = MessageQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["session", "seq"], name="one_message_per_place"),
            models.UniqueConstraint(
                fields=["session", "client_id"],
                condition=Q(client_id__isnull=False),
                name="one_message_per_client_id",
            ),
        ]
        indexes = [models.Index(fields=["author"], condition=Q(author__isnull=False), name="messages_of_authors")]

    def __str__(self) -> str:
        return f"{self.role} {self.seq} of {self.session_id}"

    @property
    def is_running(self) -> bool:
        return self.status == self.Status.RUNNING

    @property
    def is_said(self) -> bool:
        """Return whether the person or the assistant said it."""
        return self.role in (self.Role.USER, self.Role.ASSISTANT)

    @property
    def is_by_person(self) -> bool:
        """Return whether the person wrote it, and not another conversation or a schedule in their name."""
        return self.role == self.Role.USER and "by" not in self.meta

    @property
    def origin_id(self) -> str:
        """Return the id of the conversation whose model wrote it; "" for any other message."""
        origin: str = self.meta.get("origin", "")
        return origin

    @property
    def file_ids(self) -> list[uuid.UUID]:
        """Return the ids of the attachments that the message references, in order."""
        return [uuid.UUID(block["id"]) for block in self.content if block["type"] == "attachment"]

    @property
    def pasted_texts(self) -> list[str]:
        """Return the parts of `text` that its person pasted, in order."""
        return [self.text[start:end] for start, end in self.meta.get(self.PASTED_KEY, [])]

    @property
    def typed_text(self) -> str:
        """Return `text` without the parts that its person pasted, of which a line break is left."""
        typed, at = "", 0
        for start, end in self.meta.get(self.PASTED_KEY, []):
            typed, at = f"{typed}{self.text[at:start]}\n", end
        return (typed + self.text[at:]).strip()

    def tool_uses(self) -> list[dict[str, Any]]:
        return [block for block in self.content if block["type"] == "tool_use"]
