"""Read the state of a memory for its home page by one statement: counts, coverage, index, and what waits."""

from dataclasses import dataclass, fields
from typing import Any

from django.db import connection

from memory.index.embeddings import embedder
from memory.index.models import current_model_id
from memory.models import DocumentOverview
from memory.overview.entries import newest_entries
from memory.text.index_format import text_key
from oneclaw.jobs import OPEN_STATUSES
from oneclaw.models import Space, User

STATE = """
SELECT count(*) FILTER (WHERE document.path LIKE 'memory/%%') AS logs,
       count(*) FILTER (WHERE document.path NOT LIKE 'memory/%%') AS others,
       count(*) FILTER (WHERE document.indexed_version < document.version) AS to_index,
       hashtextextended(string_agg(concat_ws(' ', document.id, document.path, index.units, document.content_hash),
                                    ',' ORDER BY document.id)
                        FILTER (WHERE document.path LIKE 'memory/%%'), 0) AS calendar,
       coalesce(bool_or(index.units > 0 AND index.embedded_by_id <> %(model)s), false)
           OR EXISTS (SELECT FROM memory_embeddingmodel WHERE id = %(model_name)s AND error IS NOT NULL)
           AS has_notice,
       (SELECT count(DISTINCT flush.session_id) FROM memory_flush flush
         WHERE flush.space_id = %(space)s AND flush.status = ANY(%(open)s)) AS to_note,
       EXISTS (SELECT FROM memory_decision decision
                 JOIN memory_memoryrevision revision ON revision.id = decision.revision_id
                 JOIN oneclaw_spacerole member ON member.space_id = revision.space_id
                WHERE member.user_id = %(user)s AND member.role <> 'reader' AND decision.decided_at IS NULL)
           OR EXISTS (SELECT FROM memory_review review
                        JOIN memory_memorydocument reviewed ON reviewed.id = review.document_id
                        JOIN oneclaw_spacerole member ON member.space_id = reviewed.space_id
                       WHERE member.user_id = %(user)s AND review.answered_at IS NULL)
           OR EXISTS (SELECT FROM memory_suggestion suggestion
                        JOIN oneclaw_spacerole member ON member.space_id = suggestion.space_id
                       WHERE member.user_id = %(user)s AND member.role <> 'reader' AND suggestion.status = 'waiting')
           OR EXISTS (SELECT FROM memory_proposal proposal
                        JOIN oneclaw_spacerole member ON member.space_id = proposal.space_id
                       WHERE member.user_id = %(user)s
                         AND (proposal.state = 'waiting' AND member.role <> 'reader'
                              OR proposal.state = 'declined' AND proposal.heard_at IS NULL
                                 AND proposal.author_id = %(user)s)) AS has_waiting,
       EXISTS (SELECT FROM memory_labrun WHERE space_id = %(space)s) AS has_lab_runs,
       EXISTS (SELECT FROM oneclaw_auditevent event
                WHERE event.person = %(user)s AND event.kind LIKE 'memory.%%'
                  AND event.at > now() - interval '30 days') AS was_opened,
       hashtextextended(concat_ws('|',
           (SELECT string_agg(concat_ws(' ', revision.number, revision.message_id, message.session_id, message.seq,
                                        author.first_name, author.last_name, author.email,
                                        second.first_name, second.last_name, second.email), ',' ORDER BY number)
              FROM memory_memoryrevision revision
                   LEFT JOIN chat_message message ON message.id = revision.message_id
                   LEFT JOIN oneclaw_user author ON author.id = revision.author_id
                   LEFT JOIN oneclaw_user second ON second.id = revision.approved_by_id
             WHERE revision.document_id = %(document)s AND revision.number = ANY(%(revisions)s)),
           (SELECT concat_ws(' ', count(*), max(answered_at)) FROM memory_review
             WHERE document_id = %(document)s AND answered_at IS NOT NULL)), 0) AS origins
  FROM memory_memorydocument document LEFT JOIN memory_documentindex index ON index.document_id = document.id
 WHERE document.space_id = %(space)s AND document.deleted_at IS NULL
"""


@dataclass(frozen=True)
class MemoryState:
    """How many daily logs and other documents a memory has, and what is still to be done."""

    logs: int
    others: int
    # Documents that wait for the search index.
    to_index: int
    # A number that differs when the days with notes do, for the cache of their drawing.
    calendar: int | None
    # Whether there may be something to say about vectors (memory/index/vectors.py, notice).
    has_notice: bool
    # Conversations of which notes are queued or being written.
    to_note: int
    # Whether something waits for the person, in whatever memory.
    has_waiting: bool
    # Whether golden questions were ever run (memory/lab/golden.py).
    has_lab_runs: bool
    # Whether an admin has opened the person's own memory in the last 30 days (memory/policy/curation.py).
    was_opened: bool
    # A number that differs when the newest entries come from elsewhere, or are confirmed, for the cache of their rows.
    origins: int


def state_of(space: Space, user: User, overview: DocumentOverview | None = None) -> MemoryState:
    """Return the state of `space`, which the caller has read for its member `user`.

    `overview` is that of its curated memory, for `origins`.
    """
    model, topics = embedder(), newest_entries(overview) if overview else []
    values: dict[str, Any] = {
        "space": space.pk,
        "user": user.pk,
        "open": list(OPEN_STATUSES),
        "model": current_model_id(model) if model else None,
        "model_name": text_key(model.name) if model else None,
        "document": overview and overview.pk,
        "revisions": [entry.revision for topic in topics for entry in topic.newest],
    }
    with connection.cursor() as cursor:
        cursor.execute(STATE, values)
        row = cursor.fetchone()
    return MemoryState(**{each.name: value for each, value in zip(fields(MemoryState), row, strict=True)})
