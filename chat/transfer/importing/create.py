"""Store an imported conversation with its own times; it is marked as read, and memory learns nothing from it."""

import datetime as dt
import uuid
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db import connection, models, transaction
from django.db.models import OuterRef, Subquery
from django.utils import timezone

from chat import extensions
from chat.conversations.keys import conversation_key
from chat.conversations.titles import first_words
from chat.library import organise
from chat.models import Agent, ChatSession, Folder, Message, Rating, Turn, default_agent
from chat.rendering.citations import content_columns
from chat.rendering.messages import html_columns
from chat.signals import session_imported
from chat.transfer.importing.conversation import Conversation, Said
from chat.transfer.importing.reasons import NotImportableError
from oneclaw.models import User
from oneclaw.text import InvalidTextError, replace_unstorable

# Rows of one INSERT.
BATCH_ROWS = 500


@dataclass
class Attempt:
    """The data of a turn: the answers and tool results that belong to one attempt at a person's message."""

    prompt: int
    kind: str
    # The indexes of its messages; the last answer ends it.
    indexes: list[int]


@transaction.atomic
def create_session(owner: User, conversation: Conversation) -> ChatSession:
    """Store `conversation`, which `owner` does not have (`session_of`)."""
    said = conversation.messages
    begun = conversation.created_at or next((each.created_at for each in said if each.created_at), timezone.now())
    session = new_session(owner, conversation, fill_times(said, begun))
    store_messages(session, conversation, range(len(said)), {}, {}, {})
    session_imported.send(ChatSession, user=owner, session=session, after_seq=0)
    return session


def store_messages(
    session: ChatSession,
    conversation: Conversation,
    added: Sequence[int],
    stored: Mapping[int, int],
    turns_of: Mapping[int, int],
    numbers: Mapping[int, int],
) -> None:
    """Store the messages of `conversation` with the indexes `added` after those that `session` has, and their turns.

    `stored` are the ids of its other messages by index, `turns_of` their turns, and `numbers` the last attempts at
    those of a person, by id.
    """
    said = conversation.messages
    ids = dict(stored) | dict(zip(added, reserved(Message, len(added)), strict=True))
    is_new = set(added)
    turn_of, last_attempt = dict(turns_of), Counter(numbers)
    first_seq = session.last_seq + 1 if stored else 1
    attempts = [each for each in attempts_of(said) if not is_new.isdisjoint(each.indexes)]
    begun = [each for each in attempts if turn_of.keys().isdisjoint(each.indexes)]
    turns = []
    for turn_id, attempt in zip(reserved(Turn, len(begun)), begun, strict=True):
        prompt = ids[attempt.prompt]
        last_attempt[prompt] += 1
        turns.append(turn_row(session, said, attempt, pk=turn_id, prompt=prompt, number=last_attempt[prompt]))
        turn_of |= dict.fromkeys(attempt.indexes, turn_id)
    for attempt in attempts:
        known = next(turn_of[index] for index in attempt.indexes if index in turn_of)
        turn_of |= dict.fromkeys(attempt.indexes, known)
    rows = [
        message_row(session, conversation, index, ids, turn_of.get(index), seq=number)
        for number, index in enumerate(added, first_seq)
    ]
    keep_html(rows)
    # Foreign keys are looked at when the transaction commits.
    Turn.objects.bulk_create(turns, BATCH_ROWS)
    Message.objects.bulk_create(rows, BATCH_ROWS)
    rated = [(row, said[index].rating) for row, index in zip(rows, added, strict=True)]
    Rating.objects.bulk_create(
        Rating(message=row, agent=session.agent, model=row.model, is_good=rating[0], reason=rating[1])
        for row, rating in rated
        if rating
    )
    asked_at = Message.objects.filter(pk=OuterRef("prompt")).values("created_at")
    session.turns.filter(pk__in=[turn.pk for turn in turns]).update(started_at=Subquery(asked_at))


def session_of(owner: User, origin: str) -> ChatSession | None:
    """Return the locked session that the owner has of the conversation: an earlier import, or what was exported; None
    for a new one. Raise NotImportableError when it was deleted here."""
    program, _, identity = origin.partition(":")
    if not identity:
        return None
    same = models.Q(origin=origin)
    if program == "oneclaw" and (session_id := _uuid(identity)):
        same |= models.Q(pk=session_id)
    here = ChatSession.objects.filter(same, owner=owner)
    found = here.filter(deleted_at=None).select_for_update(no_key=True).first()
    if found is None and here.exists():
        raise NotImportableError("deleted")
    return found


def new_session(owner: User, conversation: Conversation, last: dt.datetime) -> ChatSession:
    session_id, agent = uuid.uuid4(), agent_of(owner, conversation.agent)
    title, said = conversation.title, conversation.messages
    first = next((each.text for each in said if each.role == "user" and each.text.strip()), "")
    active_at = conversation.active_at or last
    session = ChatSession.objects.create(
        pk=session_id,
        key=conversation_key(agent.slug, owner.pk, session_id),
        owner=owner,
        agent=agent,
        mode=conversation.mode,
        memory=conversation.memory,
        title=title or first_words(extensions.memory().masked(first)),
        titled_by=ChatSession.Titled.PERSON if title else ChatSession.Titled.NOT_TITLED,
        last_seq=len(said),
        read_seq=len(said),
        active_at=active_at,
        archived_at=active_at if conversation.archived else None,
        pinned_at=active_at if conversation.pinned else None,
        folder=folder_of(owner, conversation.folder),
        origin=conversation.origin if conversation.origin.partition(":")[2] else None,
    )
    # Django sets this to the current time when the row is created.
    session.created_at = conversation.created_at or said[0].created_at or active_at
    session.save(update_fields=["created_at"])
    return session


def agent_of(owner: User, name: str) -> Agent:
    """Return the person's own agent with this name; without one, the server's default."""
    return Agent.objects.own_of(owner).filter(name=name).first() or default_agent()


def folder_of(owner: User, name: str) -> Folder | None:
    try:
        return organise.get_or_create_folder(owner, name) if name else None
    except (InvalidTextError, organise.TooManyFoldersError):
        return None


def fill_times(said: list[Said], begun: dt.datetime) -> dt.datetime:
    """Give messages without a time the one of the message before them; return the newest time."""
    for each in said:
        before = said[each.parent].finished_at if each.parent is not None else None
        each.created_at = each.created_at or before or begun
        each.finished_at = max(each.finished_at or each.created_at, each.created_at)
    return max(each.finished_at for each in said if each.finished_at)


def attempts_of(said: list[Said]) -> list[Attempt]:
    """Return the turns of answers and tool results. An answer without a person's message has none. Pure."""
    prompts: list[int | None] = []
    attempts: list[Attempt] = []
    by_index: dict[int, Attempt] = {}
    # Tool results that already have a next answer, and the attempts by message.
    continued: set[int] = set()
    asked: set[int] = set()
    for index, each in enumerate(said):
        prompts.append(index if each.role == "user" else prompts[each.parent] if each.parent is not None else None)
        prompt, parent = prompts[index], each.parent
        if each.role in ("user", "notice") or prompt is None or parent is None:
            continue
        if each.role == "tool" or (said[parent].role == "tool" and parent not in continued):
            attempt = by_index[parent]
            continued.add(parent)
        else:
            again = Turn.Kind.RETRY if parent == prompt else Turn.Kind.CONTINUE
            kind = again if prompt in asked else Turn.Kind.SEND
            attempts.append(attempt := Attempt(prompt, kind, []))
            asked.add(prompt)
        attempt.indexes.append(index)
        by_index[index] = attempt
    return attempts


def turn_row(session: ChatSession, said: list[Said], attempt: Attempt, *, pk: int, prompt: int, number: int) -> Turn:
    end = next(said[index] for index in reversed(attempt.indexes) if said[index].role == "assistant")
    failed = end.status == "failed"
    return Turn(
        pk=pk,
        session=session,
        prompt_id=prompt,
        attempt=number,
        kind=attempt.kind,
        status=end.status,
        lease_until=end.finished_at or timezone.now(),
        error_code=end.error_code if failed else "",
        error=end.error if failed else None,
        finished_at=end.finished_at,
    )


def message_row(
    session: ChatSession,
    conversation: Conversation,
    index: int,
    ids: Mapping[int, int],
    turn_id: int | None,
    *,
    seq: int,
) -> Message:
    said = conversation.messages[index]
    return Message(
        pk=ids[index],
        session=session,
        seq=seq,
        parent_id=ids[said.parent] if said.parent is not None else None,
        active=index in conversation.shown,
        is_apart=said.apart or None,
        turn_id=turn_id,
        role=said.role,
        status=said.status,
        meta={"cards": said.cards} if said.cards else {},
        model=said.model,
        stop_reason=said.stop_reason,
        usage=said.usage,
        created_at=said.created_at or timezone.now(),
        finished_at=said.finished_at if said.role not in ("user", "notice") else None,
        **columns_of(said),
    )


def columns_of(said: Said) -> dict[str, Any]:
    """Return the columns of the content of a message. Only in an answer is what looks like thoughts not its text."""
    columns = content_columns(said.content)
    if said.role == "notice":
        return columns | {"text": ""}
    return columns | ({"text": replace_unstorable(said.text)} if said.role == "user" else {})


def keep_html(rows: list[Message]) -> None:
    """Store the HTML of the answers, so that no page has to render them."""
    cards = {row.parent_id: row.meta["cards"] for row in rows if "cards" in row.meta}
    for row in rows:
        if row.role == Message.Role.ASSISTANT:
            for name, value in html_columns(row.content, cards.get(row.pk, {})).items():
                setattr(row, name, value)


def reserved(model: type[models.Model], count: int) -> list[int]:
    """Return `count` ids from the sequence of `model`, for rows that refer to each other."""
    table = model._meta.db_table
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT nextval(pg_get_serial_sequence(%s, 'id')) FROM generate_series(1, %s) ORDER BY 1", [table, count]
        )
        return [row[0] for row in cursor.fetchall()]


def _uuid(value: str) -> uuid.UUID | None:
    try:
        return uuid.UUID(value)
    except ValueError:
        return None
