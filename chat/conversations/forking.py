"""Forks: new conversations that begin with copies of the messages of another one, up to a chosen message."""

import copy
import uuid
from typing import TypeVar

from django.db import transaction
from django.utils.translation import gettext as _

from chat.conversations.branches import MessageNotShownError, branch_through
from chat.conversations.keys import conversation_key
from chat.conversations.lifecycle import lock
from chat.conversations.shared.copies import for_fork
from chat.conversations.transcript import SessionBusyError
from chat.models import ChatSession, ContextRound, Head, Message, Turn
from oneclaw import pubsub
from oneclaw.jobs import Job
from oneclaw.models import User, clock

Row = TypeVar("Row", ChatSession, ContextRound, Head, Message, Turn)


@transaction.atomic
def fork(user: User, message_id: int) -> ChatSession:
    """Create a conversation with copies of the message `message_id`, all messages before it, and its answer's rest.

    ChatSession.copied_seq is the last copy: copied messages are flushed only from the session that they come from.
    Raise MessageNotShownError when the person has no such message, SessionBusyError while one of them is running.
    """
    message = Message.objects.visible_to(user).filter(pk=message_id).first()
    if message is None:
        raise MessageNotShownError
    source = lock(user, message.session_id)
    messages = messages_through(message)
    if any(each.is_running for each in messages):
        raise SessionBusyError
    # What a sub-session was sent, and that it may not write, is not that of a conversation of the person; neither is
    # what was sent in a shared conversation.
    head = None if source.is_read_only or source.is_shared else source.head
    made = copy_row(source, pk=uuid.uuid4(), head=None)
    made.key = conversation_key(source.agent.slug, user.pk, made.pk)
    made.kind = ChatSession.Kind.CONVERSATION
    made.parent = source
    made.route = None
    made.title = _("{title} (fork)").format(title=source.name[:180])
    made.last_seq = made.read_seq = made.copied_seq = len(messages)
    made.active_at = clock.database_now()
    # In the same space, and private to its owner.
    made.shared_at = None
    made.ended_at = made.pinned_at = made.archived_at = made.origin = None
    made.thinking_after_seq = sum(each.seq <= source.thinking_after_seq for each in messages)
    if source.is_read_only:
        made.thinking_after_seq, made.mode = len(messages), ChatSession.Mode.AGENT
        if source.parent is not None:
            made.mode = source.parent.mode
    if source.is_shared:
        made.owner, made.shared_at, made.shared_seq = user, None, 0
        made.folder, made.thinking_after_seq = None, len(messages)
        made.parent = source if source.owner_id == user.pk else None
    made.save(force_insert=True)
    made.refresh_from_db(fields=["active_at"])
    if head is not None:
        made.head = copy_row(head, session=made, number=1)
        made.head.save(force_insert=True)
        made.save(update_fields=["head"])
    if source.is_shared:
        copy_messages([for_fork(user, source, each) for each in messages], made)
    else:
        copy_rounds(source, messages, made, copy_messages(messages, made))
    pubsub.notify(f"user:{user.pk}", {"kind": "sessions"})
    return made


def messages_through(message: Message) -> list[Message]:
    """Return the messages from the first one through `message` to the end of its answer, in order."""
    rows = list(message.session.messages.order_by("seq").values_list("pk", "parent_id"))
    branch = branch_through(message.pk, rows)
    messages = message.session.messages.filter(pk__in=branch).select_related("turn").order_by("seq")
    return [each for each in messages if each.seq <= message.seq or (each.turn_id and each.turn_id == message.turn_id)]


def copy_messages(messages: list[Message], made: ChatSession) -> dict[int, Message]:
    """Store copies of `messages`, numbered from 1, and of the turns that wrote them, in the session `made`.

    Return the copies by the ids of the originals.
    """
    copies: dict[int, Message] = {}
    for seq, message in enumerate(messages, start=1):
        copies[message.pk] = copy_row(
            message, session=made, seq=seq, parent=None, turn=None, client_id=None, active=True
        )
    Message.objects.bulk_create(copies.values(), batch_size=500)
    turns: dict[int, Turn] = {}
    attempts: dict[int, int] = {}
    for message in messages:
        if message.turn is None or message.turn_id in turns:
            continue
        prompt = message.turn.prompt_id
        attempts[prompt] = attempts.get(prompt, 0) + 1
        turns[message.turn.pk] = copy_row(
            message.turn, session=made, prompt=copies[prompt], attempt=attempts[prompt], holder=uuid.uuid4()
        )
    Turn.objects.bulk_create(turns.values(), batch_size=500)
    before: Message | None = None
    for message in messages:
        each = copies[message.pk]
        each.parent, each.turn = before, turns[message.turn_id] if message.turn_id else None
        before = each
    Message.objects.bulk_update(copies.values(), ["parent", "turn"], batch_size=500)
    return copies


def copy_rounds(source: ChatSession, messages: list[Message], made: ChatSession, copies: dict[int, Message]) -> None:
    """Store copies of the used context rounds that end in `messages`: the model is sent the same as in `source`, and a
    long conversation is not summarised once more."""
    used = source.context_rounds.filter(status=Job.Status.DONE, undone_at=None, through__in=messages)
    for round in used.exclude(used_at=None):
        used_after_seq = sum(each.seq <= round.used_after_seq for each in messages)
        through = copies[round.through_id]
        fields = {"session": made, "through": through, "used_after_seq": used_after_seq, "undo_key": None}
        copy_row(round, **fields).save(force_insert=True)


def copy_row(row: Row, **fields: object) -> Row:
    """Return an unsaved copy of `row`, in which `fields` replace its own."""
    made = copy.copy(row)
    made._state = copy.copy(row._state)
    made._state.adding, made._state.fields_cache = True, {}
    made.pk = None
    for name, value in fields.items():
        setattr(made, name, value)
    return made
