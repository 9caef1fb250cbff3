"""The writes of a session's messages and turns.

Each transaction here is idempotent: a commit may have succeeded although its reply was lost.
"""

import logging
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from django.db import Error, transaction
from django.db.models import BooleanField, ExpressionWrapper, Q
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from chat import extensions
from chat.attachments import store
from chat.conversations import lifecycle, model_choice, statements, titles
from chat.conversations.model_choice import NO_CHOICE, Choice
from chat.conversations.pasted import Ranges
from chat.conversations.shared import authors, people
from chat.models import Attachment, ChatSession, MemoryChoice, Message, Turn, lease_end
from chat.rendering.cards import Card
from chat.rendering.citations import SOURCES_KEY, content_columns, ended_meta
from chat.rendering.messages import html_columns
from oneclaw import pubsub
from oneclaw.llm import Block
from oneclaw.models import Spend, User, clock
from oneclaw.reasons import Reason
from oneclaw.spend.calls import Spends, unset_deleted
from oneclaw.text import UserFacingError, replace_unstorable_in_json

logger = logging.getLogger(__name__)


class ClientIdConflictError(UserFacingError):
    """The client_id was already used for a message with another content."""

    wording = gettext_lazy("This message was already sent with another text or other files.")


class SessionBusyError(UserFacingError):
    """An answer is running in the conversation."""

    wording = gettext_lazy("An answer is still running. Wait for it, or stop it.")


class OtherModeError(UserFacingError):
    """The conversation began in another mode."""

    wording = gettext_lazy("This conversation was started in another mode. Start a new one for this.")


class LeaseLostError(Exception):
    """Another process has ended this turn; this process must not write it any more."""


@dataclass(frozen=True)
class AcceptedMessage:
    """A stored user message; `turn` and `answer` (its placeholder) are None for a duplicate."""

    message: Message
    turn: Turn | None
    answer: Message | None
    # Whether its conversation was stored with it, just now.
    is_first: bool = False

    @property
    def duplicate(self) -> bool:
        return self.turn is None


@transaction.atomic
def accept(
    user: User,
    session_id: uuid.UUID,
    client_id: uuid.UUID,
    text: str,
    holder: uuid.UUID | None = None,
    mode: str | None = None,
    choice: Choice = NO_CHOICE,
    files: Sequence[uuid.UUID] = (),
    *,
    pasted: Ranges = (),
    peer: str = "",
    is_next: bool = False,
) -> AcceptedMessage:
    """Store a person's message, and a running turn with its placeholder; deduplicate by (session, client_id).

    `text`, `files` and `pasted` are those of a `chat.live.frames.SendFrame`. The same `holder` again gets its own turn
    again, not a duplicate. The first message decides the conversation's `mode` (None: agent) and the agent of `choice`;
    None in a later message keeps the mode, and each message may change the model from then on. In a shared conversation
    only the one that `is_next` of its queue comes before the others that wait. `peer` is who has written it behind a
    bridge, if that is not `user`.

    Raise ClientIdConflictError, OtherModeError, SessionBusyError, lifecycle.SessionNotFoundError,
    lifecycle.ReadOnlySessionError, model_choice.NotOfferedError, store.FileMissingError.
    """
    session = lifecycle.lock_or_make(user, session_id, mode, choice)
    message = NewMessage(user, client_id, text, [], holder, pasted, peer)
    if session._state.adding:
        if begun := _begin(session, replace(message, files=store.lock_files(user, files))):
            return begun
        session = lifecycle.lock(user, session_id)  # another process has made it meanwhile
    if session.is_shared and not is_next and authors.is_out_of_turn(session, client_id):
        raise SessionBusyError
    if mode is not None and session.mode != mode:
        raise OtherModeError
    # Usually, the statement that writes the message finds what refuses it.
    if not files and choice == NO_CHOICE and (begun := _begin(session, message)):
        return begun
    if known := session.messages.filter(client_id=client_id).first():
        if known.text != text or known.file_ids != list(files):
            raise ClientIdConflictError
        return AcceptedMessage(known, *(running_turn_of(session, holder) or (None, None)))
    refuse_if_busy(session)
    model_choice.apply_choice(user.pk, session, choice)
    if begun := _begin(session, replace(message, files=store.lock_files(user, files))):
        return begun
    raise SessionBusyError


@dataclass(frozen=True)
class NewMessage:
    """A person's message that is to be stored, with its locked files; `holder` is the process that will answer it."""

    author: User
    client_id: uuid.UUID
    text: str
    files: Sequence[Attachment]
    holder: uuid.UUID | None
    pasted: Ranges = ()
    # The peer behind a bridge who has written it, if that is not its author.
    peer: str = ""


def _begin(session: ChatSession, new: NewMessage) -> AcceptedMessage | None:
    """Store `new` and its turn in `session`, which is locked or not stored; None when statements.begin_turn refuses."""
    before, notifications = (session.title, session.last_seq), [change_hint(session.pk, by_turn=True)]
    is_first = session._state.adding
    if not session.title:
        title = titles.first_words(extensions.memory().masked(new.text) or ", ".join(file.name for file in new.files))
        session.title = _("Temporary chat") if session.is_temporary else title
        notifications += people.list_changes(session)
    content = [file.reference() for file in new.files]
    if new.text:
        content.append({"type": "text", "text": new.text})
    written = {"client_id": new.client_id, "content": content, "text": new.text}
    written |= authors.columns(session, new.author, new.pasted, new.peer)
    message = next_message(session, Message.Role.USER, **written)
    answer = next_message(session, Message.Role.ASSISTANT, status=Message.Status.RUNNING)
    turn = Turn(session=session, kind=Turn.Kind.SEND, holder=new.holder or uuid.uuid4(), lease_until=lease_end())
    turn.asked_by = new.author if session.is_shared else None
    if statements.begin_turn(session, message, turn, answer, notifications):
        store.mark_sent(new.files, message)
        return AcceptedMessage(message, turn, answer, is_first)
    session.title, session.last_seq = before
    return None


def refuse_if_busy(session: ChatSession) -> None:
    """Interrupt the running turn of a locked session if its lease has expired. Raise SessionBusyError otherwise."""
    # Locked, so that a turn that ends at this moment is read as ended.
    abandoned = ExpressionWrapper(Q(lease_until__lt=clock.database_now()), BooleanField())
    for turn in session.turns.running().select_for_update(no_key=True).annotate(abandoned=abandoned):
        if not turn.abandoned:
            raise SessionBusyError
        interrupt(session, turn)


def running_turn_of(session: ChatSession, holder: uuid.UUID | None) -> tuple[Turn, Message] | None:
    """Return the running turn of this `holder` and its placeholder; None when there is none."""
    turn = session.turns.running().select_related("prompt").filter(holder=holder).first() if holder else None
    return (turn, turn.messages.get(status=Message.Status.RUNNING)) if turn else None


def append(session: ChatSession, role: str, **fields: Any) -> Message:
    """Store the next message of a locked session, after the last shown one unless `parent` is in `fields`."""
    if "parent" not in fields:
        fields["parent"] = session.messages.shown().last() if session.last_seq else None
    message = next_message(session, role, **fields)
    session.save(update_fields=["last_seq", "active_at", "title"])
    message.save(force_insert=True)
    return message


def next_message(session: ChatSession, role: str, **fields: Any) -> Message:
    """Return the next message of a locked session; neither the message nor the session is saved."""
    session.last_seq += 1
    session.active_at = clock.database_now()
    if session.memory == MemoryChoice.NONE:
        fields["is_apart"] = True
    return Message(session=session, seq=session.last_seq, role=role, **fields)


def begin_turn(
    session: ChatSession,
    prompt: Message,
    kind: str,
    holder: uuid.UUID | None,
    parent: Message | None = None,
    asked_by: User | None = None,
) -> tuple[Turn, Message]:
    """Store a running turn of a locked session, and the placeholder of its answer, after `parent` or the prompt.

    `asked_by` is the person who asks, for whom it acts in a shared session.
    """
    turn = Turn.objects.create(
        session=session,
        prompt=prompt,
        attempt=prompt.attempts.count() + 1,
        kind=kind,
        asked_by=asked_by if session.is_shared else None,
        holder=holder or uuid.uuid4(),
        lease_until=lease_end(),
    )
    meta = {"continued": True} if kind == Turn.Kind.CONTINUE else {}
    return turn, placeholder(session, turn, parent or prompt, meta)


def placeholder(session: ChatSession, turn: Turn, parent: Message, meta: dict[str, Any]) -> Message:
    """Store the empty running answer of `turn` after `parent`."""
    running = {"status": Message.Status.RUNNING, "turn": turn, "parent": parent, "meta": meta}
    answer = append(session, Message.Role.ASSISTANT, **running)
    notify_changed(session.pk, by_turn=True)
    return answer


def notify_changed(session_id: uuid.UUID, *, by_turn: bool = False) -> None:
    """Notify every process, on commit, that rows of the session have changed; `by_turn`: by a turn that runs here."""
    pubsub.notify(*change_hint(session_id, by_turn=by_turn))


def change_hint(session_id: uuid.UUID, *, by_turn: bool) -> pubsub.Hint:
    """Return the hint that rows of the session have changed; `by_turn`: by a turn here, which publishes them itself."""
    return f"session:{session_id}", {"kind": "changed", "by": pubsub.own_name() if by_turn else None}


def lock_held_session(turn: Turn) -> ChatSession:
    """Lock and return the session of `turn`. Call inside a transaction.

    Raise LeaseLostError when this process does not hold the turn any more.
    """
    session = ChatSession.objects.select_for_update(no_key=True).get(pk=turn.session_id)
    own_turn = Turn.objects.filter(pk=turn.pk, holder=turn.holder, status=Turn.Status.RUNNING)
    if not own_turn.update(lease_until=lease_end()):
        raise LeaseLostError
    return session


@transaction.atomic
def finish_round(turn: Turn, answer: Message, content: list[Block], spends: Spends = (), **fields: Any) -> Message:
    """Store the complete `answer`, which calls tools, and what it has cost; return the row for the results, written
    before any tool runs. Raise LeaseLostError.
    """
    session = lock_held_session(turn)
    if intended := turn.messages.filter(role=Message.Role.TOOL, status=Message.Status.RUNNING).first():
        return intended
    fields |= {"status": Message.Status.COMPLETE, "finished_at": clock.database_now()}
    update_message(answer, spends, **content_columns(content, answer.meta), **ended_meta(answer, content), **fields)
    return append(session, Message.Role.TOOL, turn=turn, parent=answer, status=Message.Status.RUNNING)


@transaction.atomic
def finish_tools(
    turn: Turn,
    answer: Message,
    results: Message,
    content: list[Block],
    cards: Mapping[str, Card],
    meta: Mapping[str, Any] | None = None,
) -> Message:
    """Store the results of all calls in `answer`; return the placeholder of the next answer, which has `meta`. Raise
    LeaseLostError."""
    session = lock_held_session(turn)
    if following := turn.messages.filter(seq__gt=results.seq, status=Message.Status.RUNNING).first():
        return following
    write_results(results, content, cards)
    update_message(answer, **html_columns(answer.content, cards))
    return placeholder(session, turn, results, dict(meta or {}))


@transaction.atomic
def finish_part(
    turn: Turn, answer: Message, content: list[Block], notice: Block, spends: Spends = (), **fields: Any
) -> Message:
    """Store `answer`, with which its turn does not end although it calls no tool, and after it `notice` to the model;
    return the placeholder of the next answer. Raise LeaseLostError."""
    session = lock_held_session(turn)
    if following := turn.messages.filter(seq__gt=answer.seq, status=Message.Status.RUNNING).first():
        return following
    fields |= {"status": Message.Status.COMPLETE, "finished_at": clock.database_now()}
    kept = content_columns(content, answer.meta) | html_columns(content, {}) | ended_meta(answer, content)
    update_message(answer, spends, **kept, **fields)
    said = append(session, Message.Role.NOTICE, parent=answer, content=[notice])
    sources = {name: answer.meta[name] for name in (SOURCES_KEY,) if name in answer.meta}
    return placeholder(session, turn, said, sources)


def finish_turn(
    turn: Turn,
    answer: Message,
    content: list[Block],
    status: str,
    spends: Spends = (),
    *,
    code: str = "",
    error: Reason | None = None,
    more_meta: Callable[[], Mapping[str, Any]] = dict,
    **fields: Any,
) -> Message:
    """Store the end of a turn, what its model has cost, and what `more_meta` adds to its meta. Raise LeaseLostError."""
    ended = {"status": Turn.Status(status), "error_code": code, "error": error, "unstored_calls": None}
    meta = {**ended_meta(answer, content)["meta"], **more_meta()}
    written = {"status": status, "meta": meta, **content_columns(content, answer.meta), **fields}
    if not any(block["type"] == "tool_use" for block in written["content"]):
        _end(turn, answer, ended, written | html_columns(written["content"], {}), spends)
        return answer
    with transaction.atomic():
        session = ChatSession.objects.select_for_update(no_key=True).get(pk=turn.session_id)
        if _end(turn, answer, ended, written, spends):
            close_tools(session, turn, answer, NEVER_RAN)
    return answer


def _end(turn: Turn, answer: Message, ended: dict[str, Any], written: dict[str, Any], spends: Spends) -> bool:
    """Write the columns of `turn` and its last `answer`, and `spends`; return False when they were stored before, and
    only the reply to that commit was lost. Raise LeaseLostError."""
    if statements.end_turn(turn, answer, ended, written, spends, [change_hint(turn.session_id, by_turn=True)]):
        return True
    if Turn.objects.filter(pk=turn.pk, holder=turn.holder, status=ended["status"]).exists():
        return False
    raise LeaseLostError


def update_message(message: Message, spends: Spends = (), **fields: Any) -> None:
    """Update these columns of `message`, store `spends`, and notify every process."""
    changed = change_hint(message.session_id, by_turn=message.turn_id is not None)
    statements.update_message(message, fields, [changed], spends)


def write_results(results: Message, content: list[Block], cards: Mapping[str, Card]) -> None:
    """Complete the tool message `results` with its blocks and the cards of its calls."""
    update_message(
        results,
        content=replace_unstorable_in_json(content),
        meta={**results.meta, "cards": replace_unstorable_in_json(cards)},
        status=Message.Status.COMPLETE,
        finished_at=clock.database_now(),
    )


# What the card shows for a call without a result, and what the model reads instead of the result.
INTERRUPTED = Reason("call.interrupted")
NEVER_RAN = "This call was not run, because the answer was ended before it."
UNKNOWN_RESULT = (
    "The result of this call was lost because the server stopped. It may or may not have taken effect: "
    "look before you repeat it."
)


def close_tools(session: ChatSession, turn: Turn, answer: Message, sentence: str) -> None:
    """Store `sentence` as an error result for every tool call of `answer`, so that each call has a result."""
    content: list[Block] = [
        {"type": "tool_result", "tool_use_id": use["id"], "content": sentence, "is_error": True}
        for use in answer.tool_uses()
    ]
    cards = cards_of_unrun(answer)
    running = session.messages.filter(turn=turn, role=Message.Role.TOOL, status=Message.Status.RUNNING).first()
    write_results(running or append(session, Message.Role.TOOL, turn=turn), content, cards)
    update_message(answer, **html_columns(answer.content, cards))


def cards_of_unrun(answer: Message) -> dict[str, Card]:
    """Return the cards of the tool calls of an answer that ended before they ran, by tool_use id. Pure."""
    return {use["id"]: {"state": "failed", "summary": INTERRUPTED.as_json, "lines": []} for use in answer.tool_uses()}


def interrupt(session: ChatSession, turn: Turn) -> None:
    """Mark a turn of a locked session, and its running messages, as interrupted, and store what it has cost.

    The turn gets another holder, so that a late writer with the old one is refused.
    """
    now = clock.database_now()
    # The turn before its messages, the lock order of all writers.
    turn.store_calls()
    turn.status, turn.finished_at, turn.holder = Turn.Status.INTERRUPTED, clock.database_now(), uuid.uuid4()
    turn.save(update_fields=["status", "finished_at", "holder", "unstored_calls"])
    last = turn.messages.filter(role=Message.Role.ASSISTANT).order_by("seq").last()
    if last is not None and last.status == Message.Status.RUNNING:
        update_message(last, status=Message.Status.INTERRUPTED, finished_at=now)
        if last.tool_uses():
            close_tools(session, turn, last, NEVER_RAN)
    elif last is not None:
        close_tools(session, turn, last, UNKNOWN_RESULT)
        append(session, Message.Role.ASSISTANT, turn=turn, status=Message.Status.INTERRUPTED, finished_at=now)
    notify_changed(session.pk)


@transaction.atomic
def interrupt_own_turn(turn: Turn, spends: Spends = ()) -> None:
    """Interrupt a turn of this process that cannot continue, and store what it has cost. Raise LeaseLostError when it
    does not hold the turn."""
    session = lock_held_session(turn)
    unset_deleted(spends)
    Spend.objects.bulk_create(spends, ignore_conflicts=True)
    interrupt(session, turn)


def sweep() -> int:
    """Interrupt every abandoned turn; return how many there were."""
    count = 0
    for turn in Turn.objects.abandoned():
        try:
            count += _sweep(turn)
        except (Error, LookupError, TypeError):
            # A turn with faulty rows must not keep the other turns from being ended.
            logger.exception("Turn %s could not be interrupted; the next sweep tries again.", turn.pk)
    return count


@transaction.atomic
def _sweep(turn: Turn) -> int:
    session = ChatSession.objects.select_for_update(no_key=True).get(pk=turn.session_id)
    abandoned = list(session.turns.abandoned().select_for_update(no_key=True))
    for each in abandoned:
        interrupt(session, each)
    return len(abandoned)
