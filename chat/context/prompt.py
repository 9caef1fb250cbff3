"""The request to the model: the head, then the shown messages as they were sent first."""

import logging
from collections.abc import Sequence
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db import transaction
from django.utils import translation

from chat.context import cache_marks, file_shares, per_message
from chat.context.file_shares import Share
from chat.context.files import named_in
from chat.context.heads import head_of, withhold_thinking
from chat.context.view import COLUMNS, META_KEY, View, ViewRow, view_of
from chat.conversations import model_choice
from chat.models import Attachment, ChatSession, Head, Turn
from oneclaw.llm import ApiMessage, Block, Request

logger = logging.getLogger(__name__)


@translation.override("en")
def build_request(turn: Turn) -> Request:
    """Return the request for the next answer of `turn`. Sync.

    Everything that an earlier request held stays as it was sent, so that the provider's cache and its signed thinking
    stay valid. The prompt is in English for every user.
    """
    session = ChatSession.objects.select_related("agent", "owner", "head").get(pk=turn.session_id)
    head = head_of(session)
    per_message.add_context(session, turn.prompt)
    rows = rows_of(session)
    view = current_view(session, head, rows)
    system: list[Block] = [{"type": "text", "text": head.system}]
    if settings.CACHE != "off":
        cache_marks.mark(system, view.messages, cache_marks.lifetime_for(settings.CACHE, rows))
    return Request(
        model=model_choice.model_of(session),
        system=system,
        messages=view.messages,
        tools=head.tools or (),
        digest=view.digest,
    )


def rows_of(session: ChatSession) -> list[ViewRow]:
    """Return the rows of the shown and finished messages, in order."""
    return [ViewRow(*columns) for columns in session.messages.shown().finished().values_list(*COLUMNS)]


def current_view(session: ChatSession, head: Head, rows: Sequence[ViewRow]) -> View:
    """Return the messages of the next request. Store the shares of files that are sent for the first time.

    When something differs from what an answer was made from, which is a defect, its thinking is withheld.
    """
    files = files_of(session, rows)
    view = view_of(head, rows, files, session.thinking_after_seq)
    if view.drifted_seq:
        logger.error(
            "What was sent before message %s of conversation %s has changed; its thinking is withheld.",
            view.drifted_seq,
            session.pk,
        )
        withhold_thinking(session, session.last_complete_seq())
        view = view_of(head, rows, files, session.thinking_after_seq)
    return view


def files_of(session: ChatSession, rows: Sequence[ViewRow]) -> dict[UUID, Attachment]:
    """Return the attached files of `rows` by id. Store how much of each is sent, in `rows` as well."""
    having = [(row, ids) for row in rows if (ids := [UUID(block["id"]) for block in named_in(row.content)])]
    if not having:
        return {}
    files = Attachment.objects.filter(owner=session.owner_id).in_bulk([id for _, ids in having for id in ids])
    stored = [row.sent("files") for row, _ in having]
    shares, released = file_shares.assign_shares([ids for _, ids in having], stored, files)
    changed = {
        row.seq: (row, after) for (row, _), before, after in zip(having, stored, shares, strict=True) if after != before
    }
    if changed:
        store_shares(session, changed, released)
    return files


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


def answer_meta(digest: str) -> dict[str, Any]:
    """Return the Message.meta of an answer to a request with this digest."""
    return {META_KEY: {"prefix": digest}}


def api_messages(session: ChatSession) -> list[ApiMessage]:
    """Return the messages of the next request of `session`, without cache breakpoints. Sync."""
    return current_view(session, head_of(session), rows_of(session)).messages
