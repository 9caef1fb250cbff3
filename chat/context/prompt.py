"""The request to the model: the head, then the shown messages as they were sent first."""

import logging
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any
from uuid import UUID

from django.conf import settings
from django.contrib.postgres.expressions import ArraySubquery
from django.db import transaction
from django.db.models import Exists, OuterRef
from django.db.models.functions import JSONObject
from django.utils import translation

from chat import extensions
from chat.answering import INSTEAD_OF_KEY, PLAIN_KEY, WITHOUT_MEMORY_KEY
from chat.context import cache_marks, file_shares, per_message
from chat.context.counted import NEWEST_COUNTED, Counted, counted_from
from chat.context.days import add_day
from chat.context.file_shares import Share
from chat.context.files import named_in
from chat.context.heads import head_of, holds_memory, withhold_thinking
from chat.context.lost import LOST_KEY, changed_metas, readable_rows
from chat.context.rounds import NO_ROUNDS, RoundsInView, rounds_for_turn, rounds_in_view, rounds_of_last_request
from chat.context.shared_rows import as_sent
from chat.context.view import CACHE_KEY, COLUMNS, META_KEY, View, ViewRow, view_of
from chat.context.without_memory import rounds_without_memory, without_memory
from chat.conversations import model_choice
from chat.models import Attachment, ChatSession, ContextRound, Head, Message, Turn
from oneclaw.llm import ApiMessage, Block, Finished, Request

logger = logging.getLogger(__name__)


# What the meta of an answer says of the request that it was made by.
OF_ONE_REQUEST = (WITHOUT_MEMORY_KEY, INSTEAD_OF_KEY, PLAIN_KEY)


@dataclass(frozen=True)
class TurnContext:
    """What the request for an answer of a turn is built from: the session with its agent, owner and head, the numbers
    of the messages that the turn has written, and the rows that are sent."""

    session: ChatSession
    begun: Sequence[int]
    # Whether summaries or shortened results were ever made, and those that are used.
    has_rounds: bool
    rounds: RoundsInView
    rows: Sequence[ViewRow]
    # The newest answer before whose request the provider has counted.
    counted: Counted | None
    # The names of the extensions that have no context for its messages.
    idle: Collection[str]

    @property
    def is_first(self) -> bool:
        """Return whether it is the first request of the turn."""
        return len(self.begun) == 1


def first_context(turn: Turn) -> TurnContext:
    """Return what the first request of a conversation is built from that this process has just stored with `turn`.
    Without a statement: all of it was written here."""
    session = turn.session
    rows = [ViewRow(*(getattr(turn.prompt, column) for column in COLUMNS))]
    return TurnContext(session, [session.last_seq], False, NO_ROUNDS, rows, None, conditions_of_context())


def read_context(turn: Turn) -> TurnContext:
    """Return what the next request of `turn` is built from."""
    begun = ArraySubquery(Message.objects.filter(turn=turn.pk).order_by("seq").values("seq"))
    has_rounds = Exists(ContextRound.objects.filter(session=OuterRef("pk")))
    found = ChatSession.objects.select_related("agent", "owner", "head")
    conditions = conditions_of_context()
    have_items = JSONObject(**conditions)
    found = found.annotate(begun=begun, has_rounds=has_rounds, counted=NEWEST_COUNTED, have_items=have_items)
    session = found.get(pk=turn.session_id)
    is_first = len(session.begun) == 1
    if is_first:
        rounds = rounds_for_turn(session, session.begun[0] - 1, has_rounds=session.has_rounds)
    else:
        rounds = rounds_of_last_request(session)
    rows = rows_of(session, rounds.through_seq)
    if is_first:
        # What is lost during an answer leaves after it.
        rows = without_lost(session, rows)
    counted = counted_from(session.counted)
    idle = [name for name, has_any in session.have_items.items() if not has_any]
    return TurnContext(session, session.begun, session.has_rounds, rounds, rows, counted, idle)


def conditions_of_context() -> dict[str, Exists]:
    """Return the conditions on the row of a session without which extensions have no context for its messages, by the
    names of the extensions."""
    sources = ((each.name, each.message_context) for each in extensions.installed())
    return {name: source.may_have for name, source in sources if source and source.may_have is not None}


@translation.override("en")
def build_request(turn: Turn, known: TurnContext | None = None) -> Request:
    """Return the request for the next answer of `turn`; `known` is what it is built from, if it is loaded. Sync.

    Everything that an earlier request held stays as it was sent, so that the provider's cache and its signed thinking
    stay valid. The prompt is in English for every user.
    """
    with extensions.memory().reading():
        return _request_from(turn, known or read_context(turn))


def _request_from(turn: Turn, known: TurnContext) -> Request:
    session, asker_id = known.session, turn.asked_by_id
    if session.head is None:
        is_away = model_choice.answers_without_memory(session, asker_id)
        extensions.memory_for(session, is_away=is_away).prepare_prompt(session)
    if session.kind == ChatSession.Kind.BEAT and session.head is not None:
        # Its head and its message were made for this turn (chat/schedules/head.py).
        head = session.head
    else:
        head = _head_for(known, asker_id)
        per_message.add_context(session, turn.prompt, known.idle, is_away=not holds_memory(head))
        if known.is_first:
            add_day(turn, session, head, known.rows)
    rows = [with_context(row, turn.prompt) for row in known.rows]
    view = current_view(session, head, rows, known.rounds)
    # As it is now, for set_answer_meta().
    turn.session = session
    request = request_for(session, head, rows, view, asker_id)
    if wanted := model_choice.wanted_model(session, asker_id):
        request = replace(request, instead_of=model_choice.offered_models().get(wanted, wanted))
    return replace(request, max_tokens=larger_limit(turn), thinks=not view.lacks_thinking)


def _head_for(known: TurnContext, asker_id: int | None) -> Head:
    """Return the head of the next request. What is turned off during an answer leaves after it: its own thinking is
    bound to the head that it began with. But the server of another model may not be sent the memory that is in it."""
    kept = None if known.is_first else known.session.head
    if kept and holds_memory(kept) == model_choice.answers_without_memory(known.session, asker_id):
        kept = None
    return kept or head_of(known.session, asker_id)


def with_context(row: ViewRow, message: Message) -> ViewRow:
    """Return `row` with what was stored with `message` for its request, if it is its row."""
    if row.seq != message.seq:
        return row
    if row.meta.get(LOST_KEY):
        # As it is shown to who may not read all of it any more.
        return row
    stored = {name: message.meta[name] for name in (per_message.META_KEY, META_KEY) if name in message.meta}
    if META_KEY in stored:
        # The row has more where `message` was read before the shares of its files were stored.
        stored[META_KEY] = {**stored[META_KEY], **row.all_sent}
    return replace(row, meta=row.meta | stored) if stored else row


def request_for(
    session: ChatSession, head: Head, rows: Sequence[ViewRow], view: View, asker_id: int | None = None
) -> Request:
    """Return the request of `view`, which was made of `rows`, with its cache breakpoints. They are set in `view`.

    Its model is the one that answers the person `asker_id`; None: the owner of the session.
    """
    system: list[Block] = [{"type": "text", "text": head.system}]
    # Most beats ask once, which does not pay for the writing of a cache.
    if settings.CACHE != cache_marks.OFF and view.messages and session.kind != ChatSession.Kind.BEAT:
        cache_marks.mark(system, view.messages, cache_marks.lifetime_for(settings.CACHE, rows))
    return Request(
        model=model_choice.model_of(session, asker_id),
        system=system,
        messages=view.messages,
        tools=head.tools or (),
        effort=model_choice.effort_of(session),
        digest=view.digest,
        holds_memory=view.holds_memory,
    )


def withhold_earlier_thinking(turn: Turn) -> None:
    """Do not send the thinking of earlier answers in the session of `turn` any more."""
    withhold_thinking(turn.session, turn.session.last_complete_seq())


def larger_limit(turn: Turn) -> int | None:
    """Return twice the tokens of an answer that the settings allow, for the continuation of one that used up all of
    them; None for the usual limit."""
    if turn.kind != Turn.Kind.CONTINUE or not settings.MAX_OUTPUT_TOKENS:
        return None
    cut = turn.session.messages.shown().finished().filter(role=Message.Role.ASSISTANT).last()
    return 2 * settings.MAX_OUTPUT_TOKENS if cut is not None and cut.stop_reason in Message.CUT_ENDINGS else None


def rows_of(session: ChatSession, after_seq: int = 0) -> list[ViewRow]:
    """Return the rows of the shown and finished messages after `after_seq`, in order."""
    rows = session.messages.shown().finished().filter(seq__gt=after_seq)
    return readable_rows(session, as_sent(session, [ViewRow(*columns) for columns in rows.values_list(*COLUMNS)]))


def without_lost(session: ChatSession, rows: list[ViewRow]) -> list[ViewRow]:
    """Return `rows` without the context that extensions may not send any more, which is stored, and so is what else
    is left out of them now."""
    if left_out := changed_metas(rows):
        store_left_out(session, left_out)
    changed: dict[int, dict[str, Any]] = {}
    for each in extensions.installed():
        source = each.message_context
        if source is None or source.without_lost is None:
            continue
        metas = {row.seq: changed.get(row.seq, row.meta) for row in rows}
        found = {seq: items for seq, meta in metas.items() if (items := per_message.items_of(meta, each.name))}
        for seq, items in source.without_lost(session, found).items() if found else ():
            changed[seq] = per_message.with_items(metas[seq], each.name, items)
    if not changed:
        return rows
    store_context(session, changed)
    return [replace(row, meta=changed[row.seq]) if row.seq in changed else row for row in rows]


@transaction.atomic
def store_left_out(session: ChatSession, left_out: dict[int, dict[str, Any]]) -> None:
    """Store what is left out of these messages, by number, and withhold the thinking that is bound to what was sent."""
    ChatSession.objects.select_for_update(no_key=True).get(pk=session.pk)
    for message in session.messages.filter(seq__in=left_out).only("seq", "meta"):
        message.meta[LOST_KEY] = left_out[message.seq]
        message.save(update_fields=["meta"])
    withhold_thinking(session, session.last_complete_seq())


@transaction.atomic
def store_context(session: ChatSession, changed: dict[int, dict[str, Any]]) -> None:
    """Store the context in these metas with their messages, by number, and withhold the thinking that is bound to what
    was sent before."""
    # Locked, so that no other change of a message's `meta` is overwritten.
    ChatSession.objects.select_for_update(no_key=True).get(pk=session.pk)
    for message in session.messages.filter(seq__in=changed).only("seq", "meta"):
        message.meta[per_message.META_KEY] = changed[message.seq][per_message.META_KEY]
        message.save(update_fields=["meta"])
    withhold_thinking(session, session.last_complete_seq())


def current_view(session: ChatSession, head: Head, rows: Sequence[ViewRow], rounds: RoundsInView) -> View:
    """Return the messages of the next request. Store the shares of files that are sent for the first time.

    `rows` are those after the messages that `rounds` replace.

    When something differs from what an answer was made from, which is a defect, its thinking is withheld.
    """
    files = files_of(session, rows)
    is_away = not holds_memory(head)
    if is_away:
        rows, rounds = without_memory(rows), rounds_without_memory(session, rounds)
    view = view_of(head, rows, files, session.thinking_after_seq, rounds)
    if view.drifted_seq:
        logger.error(
            "What was sent before message %s of conversation %s has changed; its thinking is withheld.",
            view.drifted_seq,
            session.pk,
        )
        withhold_thinking(session, session.last_complete_seq())
        view = view_of(head, rows, files, session.thinking_after_seq, rounds)
    view.holds_memory = not is_away
    return view


def files_of(session: ChatSession, rows: Sequence[ViewRow]) -> dict[UUID, Attachment]:
    """Return the attached files of `rows` by id. Store how much of each is sent, in `rows` as well."""
    having = [(row, ids) for row in rows if (ids := file_ids(row))]
    if not having:
        return {}
    files = attachments_of(session, rows)
    stored = [row.sent("files") for row, _ in having]
    shares, released = file_shares.assign_shares([ids for _, ids in having], stored, files)
    changed = {
        row.seq: (row, after) for (row, _), before, after in zip(having, stored, shares, strict=True) if after != before
    }
    if changed:
        store_shares(session, changed, released)
    return files


def attachments_of(session: ChatSession, rows: Sequence[ViewRow]) -> dict[UUID, Attachment]:
    """Return the attached files of `rows` by id."""
    ids = [id for row in rows for id in file_ids(row)]
    files = Attachment.objects.all()
    if not session.is_shared and not session.shared_seq:
        files = files.filter(owner=session.owner_id)
    else:
        # What a message names was its author's when it was stored.
        files = files.filter(names__message__session=session).distinct()
    return files.in_bulk(ids) if ids else {}


def file_ids(row: ViewRow) -> list[UUID]:
    return [UUID(block["id"]) for block in named_in(row.content)]


@transaction.atomic
def store_shares(session: ChatSession, changed: dict[int, tuple[ViewRow, list[Share]]], released: bool) -> None:
    """Store the shares of the files of these messages, by their number, and set them in the rows."""
    # Locked, so that no other change of a message's `meta` is overwritten.
    ChatSession.objects.select_for_update(no_key=True).get(pk=session.pk)
    for message in session.messages.filter(seq__in=changed).only("seq", "meta"):
        row, shares = changed[message.seq]
        message.meta[META_KEY] = {**message.meta.get(META_KEY, {}), "files": shares}
        message.save(update_fields=["meta"])
        row.meta[META_KEY] = message.meta[META_KEY]
    if released:
        withhold_thinking(session, session.last_complete_seq())


def set_answer_meta(answer: Message, request: Request, turn: Turn) -> None:
    """Set in the meta of `answer` how `request` was made, which was built for `turn`."""
    sent: dict[str, Any] = {CACHE_KEY: cache_marks.lifetime_of(request.system)}
    if not request.is_plain:
        # What a model thinks about plain text is bound to that text, which is not sent again.
        sent["prefix"] = request.digest
    if request.effort:
        sent["effort"] = request.effort
    if not request.thinks:
        sent["thinks"] = False
    if turn.session.used_rounds:
        sent["rounds"] = turn.session.used_rounds
    # An attempt before may have asked another model.
    before = {name: value for name, value in answer.meta.items() if name not in OF_ONE_REQUEST}
    answer.meta = {**before, META_KEY: sent}
    if request.is_plain:
        answer.meta[PLAIN_KEY] = True
    if not request.holds_memory:
        answer.meta[WITHOUT_MEMORY_KEY] = True
    if request.instead_of:
        answer.meta[INSTEAD_OF_KEY] = request.instead_of


def upstream_meta(answer: Message, finished: Finished) -> dict[str, Any]:
    """Return what is added to the meta of `answer` when another server than the first one has given it.

    Its thinking is never sent, so it counts as an answer without.
    """
    if not finished.upstream:
        return {}
    return {Message.UPSTREAM_KEY: finished.upstream, META_KEY: {**answer.meta.get(META_KEY, {}), "thinks": False}}


def api_messages(session: ChatSession) -> list[ApiMessage]:
    """Return the messages of the next request of `session`, without cache breakpoints. Sync."""
    rounds = rounds_in_view(session)
    return current_view(session, head_of(session), rows_of(session, rounds.through_seq), rounds).messages
