"""The requests of a conversation for its owner to read: the next one, and the one that each answer was made by."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from django.db import transaction
from django.utils import translation

from chat.answering import WITHOUT_MEMORY_KEY
from chat.context import tokens
from chat.context.cache_misses import effort_for
from chat.context.heads import head_of
from chat.context.lost import changed_metas, readable_head, readable_rows
from chat.context.meter import Breakdown, breakdown_of, facts_for, message_parts
from chat.context.prompt import attachments_of, current_view, request_for, rows_of, without_lost
from chat.context.rounds import RoundsInView, rounds_in_view, rounds_with
from chat.context.shared_rows import as_sent
from chat.context.view import COLUMNS, META_KEY, View, ViewRow, view_of
from chat.context.without_memory import rounds_without_memory, without_memory
from chat.models import ChatSession, Head, Message
from oneclaw.llm import Block, Request
from oneclaw.llm.estimate import text_tokens
from oneclaw.llm.request import parts_of


@dataclass(frozen=True)
class InspectedMessage:
    """One message of a request: its row, its blocks as they are sent, and their estimated tokens."""

    row: ViewRow
    blocks: list[Block]
    tokens: int


@dataclass(frozen=True)
class InspectedRequest:
    """One request, part by part. `is_exact`: whether it is known to be what was sent, byte for byte. `lacks_lost`:
    whether that is left out which the person may not read any more."""

    request: Request
    # (name, text, estimated tokens) of each section of the system text, and of each tool, whose text is JSON.
    sections: list[tuple[str, str, int]]
    tools: list[tuple[str, Mapping[str, Any], int]]
    # The blocks in place of the messages that a summary replaces, with its estimated tokens.
    replacement: list[tuple[Block, int]]
    messages: list[InspectedMessage]
    is_exact: bool = True
    lacks_lost: bool = False


@translation.override("en")
def next_breakdown(session: ChatSession) -> Breakdown:
    """Return what takes the tokens of the next request of `session`. Sync; stores nothing."""
    with transaction.atomic():
        found = breakdown_of(session, head_of(session))
        transaction.set_rollback(True)
    return found


@translation.override("en")
def next_request(session: ChatSession) -> tuple[InspectedRequest, Breakdown]:
    """Return the request that `session` would send now, without the next message, and what takes its tokens.

    It is made as it will be made, and what that stores is rolled back. Sync.
    """
    with transaction.atomic():
        head, rounds = head_of(session), rounds_in_view(session)
        rows = without_lost(session, rows_of(session, rounds.through_seq))
        view = current_view(session, head, rows, rounds)
        breakdown = breakdown_of(session, head)
        inspected = inspect(session, head, rows, view, rounds)
        transaction.set_rollback(True)
    return inspected, breakdown


@translation.override("en")
def request_of(answer: Message) -> InspectedRequest | None:
    """Return the request that `answer` was made by; None when its head is not kept any more. Sync."""
    session = answer.session
    head = head_at(answer)
    if head is None or not head.system:
        return None
    whole_head, head = head, readable_head(session, head)
    sent = answer.meta.get(META_KEY, {})
    rounds, digest = rounds_with(session, sent.get("rounds", ())), sent.get("prefix")
    if answer.meta.get(WITHOUT_MEMORY_KEY):
        rounds = rounds_without_memory(session, rounds)
    rows = [row for row in rows_before(answer) if row.seq > rounds.through_seq]
    files = attachments_of(session, rows)
    # Which thinking was sent then is not recorded: all of it, or what is sent since the last change.
    views = [view_of(head, rows, files, after_seq, rounds) for after_seq in (0, session.thinking_after_seq)]
    view = next((view for view in views if view.digest == digest), views[-1])
    found = inspect(session, head, rows, view, rounds)
    made = replace(found.request, model=answer.model or found.request.model, effort=effort_for(answer))
    lacks_lost = head is not whole_head or bool(changed_metas(rows))
    return replace(found, request=made, is_exact=view.digest == digest, lacks_lost=lacks_lost)


def head_at(answer: Message) -> Head | None:
    """Return the head that was valid when `answer` was requested; None when it is not finished, or has none."""
    if answer.finished_at is None:
        return None
    made = answer.session.heads.filter(created_at__lte=answer.finished_at)
    return made.exclude(tools=None).order_by("-number").first()


def rows_before(answer: Message) -> list[ViewRow]:
    """Return the rows of the messages before `answer` on its branch, in order."""
    messages = answer.session.messages.filter(seq__lt=answer.seq)
    parents = dict(messages.values_list("pk", "parent"))
    branch, each = set(), answer.parent_id
    while each is not None:
        branch.add(each)
        each = parents.get(each)
    rows = messages.filter(pk__in=branch).finished().order_by("seq").values_list(*COLUMNS)
    sent = readable_rows(answer.session, as_sent(answer.session, [ViewRow(*columns) for columns in rows]))
    return without_memory(sent) if answer.meta.get(WITHOUT_MEMORY_KEY) else sent


def inspect(
    session: ChatSession, head: Head, rows: list[ViewRow], view: View, rounds: RoundsInView
) -> InspectedRequest:
    """Return the request of `view`, with the estimated tokens of each part."""
    chars_per_token = facts_for(session).chars_per_token
    sent = message_parts(session, [row for row, _ in view.sent], chars_per_token, rounds)
    messages = [
        InspectedMessage(row, blocks, parts.total()) for (row, blocks), parts in zip(view.sent, sent, strict=True)
    ]
    replacement = [block for message in rounds.replacement() for block in message["content"]]
    return InspectedRequest(
        request=request_for(session, head, rows, view),
        sections=[(name, text, text_tokens(text, chars_per_token)) for name, text in head.section_texts()],
        tools=[(tool["name"], dict(tool), tokens.tool_tokens(tool, chars_per_token)) for tool in head.tools or ()],
        messages=messages,
        replacement=[(block, tokens.block_tokens(block, chars_per_token)) for block in replacement],
    )


def body_of(session: ChatSession, inspected: InspectedRequest) -> dict[str, Any]:
    """Return the body of the request in the API's form."""
    return parts_of(inspected.request, facts_for(session))
