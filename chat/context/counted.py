"""The newest answer of a conversation whose request the provider has counted."""

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import JSONField
from django.db.models.expressions import RawSQL

from chat.models import ChatSession

# An annotation of sessions, which `counted_from` reads. As SQL: every page of a conversation asks for it, and the ORM
# takes longer to write it than the database to run it.
NEWEST_COUNTED = RawSQL(
    """
    SELECT jsonb_build_object('seq', seq, 'model', model, 'usage', usage,
                              'rounds', coalesce(meta->'sent'->'rounds', '[]')) FROM chat_message
    WHERE session_id = chat_chatsession.id AND active AND jsonb_typeof(usage->'input_tokens') = 'number'
    ORDER BY seq DESC LIMIT 1
    """,
    (),
    JSONField(),
)


@dataclass(frozen=True)
class Counted:
    """An answer whose request the provider has counted."""

    seq: int
    model: str
    usage: Mapping[str, Any]
    # The numbers of the context rounds that the request was made with.
    rounds: list[int]


def counted_from(found: dict[str, Any] | None) -> Counted | None:
    """Return the value of NEWEST_COUNTED; None when no request was counted."""
    return Counted(**found) if found else None


def newest_counted(session_id: uuid.UUID) -> Counted | None:
    """Return the newest shown answer of a session whose request the provider has counted; None when there is none."""
    return newest_counted_of([session_id])[session_id]


def newest_counted_of(session_ids: Sequence[uuid.UUID]) -> dict[uuid.UUID, Counted | None]:
    """Return `newest_counted` of each of these sessions. One statement."""
    found = ChatSession.objects.filter(pk__in=session_ids).values_list("pk", NEWEST_COUNTED)
    return {pk: counted_from(counted) for pk, counted in found}
