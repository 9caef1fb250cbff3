"""Index conversations for the search. A row per conversation says when: after enough new text, or when it is left."""

import datetime as dt
import uuid
from collections.abc import Collection, Iterable, Sequence

from django.conf import settings
from django.db import transaction
from django.db.models import F, Func, IntegerField, Q, QuerySet, Sum
from django.db.models.expressions import Combinable
from django.db.models.functions import Coalesce

from chat.models import ChatSession, Message
from memory.access.decided import MemoryAccess
from memory.access.load import access_of, accesses_of, locked_accesses
from memory.access.transcripts import of_transcripts
from memory.index import attached_files
from memory.index.attached_files import AttachedFile
from memory.index.documents import flags_of
from memory.index.transcripts import TranscriptMessage, kept_messages, transcript_messages
from memory.index.vectors import embed_transcript, embedded_text
from memory.models import Forgetting, TranscriptChunk, TranscriptIndex
from memory.policy.switches import Switch
from memory.text.chunking import chunks_of, speakers
from memory.text.index_format import LAYOUT_VERSION, pack, text_key
from memory.text.languages import LANGUAGE_NAMES as LANGUAGES
from memory.text.languages import language_of
from memory.text.terms import terms_of
from oneclaw.locks import hold
from oneclaw.models import Space, clock

# A conversation becomes due after this many new messages, or bytes of new text …
UNINDEXED_MIN_MESSAGES, UNINDEXED_MIN_BYTES = 50, 100 * 1024
# … and this long after its last turn.
DEBOUNCE_SECONDS = 5.0
# The indexes that are built before others have their turn.
DUE_MAX_COUNT = 200


def after_turn(session: ChatSession) -> int | None:
    """Request an index after a turn: due in DEBOUNCE_SECONDS if there is enough new text.

    Return the id of the due index, or None.
    """
    access = access_of(session)
    if not _is_wanted(access):
        return None
    index = TranscriptIndex.objects.filter(session=session).defer("data").first()
    through = index.through_seq if index else 0
    fresh = session.last_seq - through
    if fresh < UNINDEXED_MIN_MESSAGES and _bytes_after(session, through) < UNINDEXED_MIN_BYTES:
        return None
    if index is not None and index.due_at is not None and fresh >= 2 * UNINDEXED_MIN_MESSAGES:
        # Do not postpone further: a conversation without pauses would never be indexed.
        return index.pk
    return _make_due([access], clock.database_now() + dt.timedelta(seconds=DEBOUNCE_SECONDS))[0]


def request(session: ChatSession) -> int | None:
    """Request an index now, because the session was left or ended.

    Return the id of the due index, or None if it is up to date or the session may not be indexed.
    """
    return next(iter(request_all([access_of(session)])), None)


def request_all(accesses: Iterable[MemoryAccess]) -> list[int]:
    """Request an index of each of these conversations now. Return the ids of the due indexes."""
    wanted = {access.session.pk: access for access in accesses if _is_wanted(access)}
    covered = TranscriptIndex.objects.filter(session__in=wanted, layout=LAYOUT_VERSION)
    indexed = dict(covered.values_list("session", "through_seq"))
    complete = ChatSession.objects.filter(pk__in=wanted).last_complete_seqs()
    fresh = [access for pk, access in wanted.items() if complete.get(pk, 0) > indexed.get(pk, 0)]
    return _make_due(fresh, clock.database_now())


def request_unless_due(session: ChatSession) -> int | None:
    """Request an index now, unless it is due already. Return the id of the due index, or None as request() does."""
    is_due = TranscriptIndex.objects.filter(session=session, due_at__lte=clock.database_now()).exists()
    return None if is_due else request(session)


def covers(session: ChatSession, through_seq: int) -> bool:
    """Return whether the messages of `session` up to `through_seq` are indexed as they are now, or may not be."""
    if not _is_wanted(access_of(session)):
        return True
    # An index that is due is of another branch, or has lines that were forgotten.
    current = TranscriptIndex.objects.filter(session=session, layout=LAYOUT_VERSION, through_seq__gte=through_seq)
    return current.exclude(due_at__lte=clock.database_now()).exists()


def after_switch(session: ChatSession) -> int | None:
    """Request an index now, because another branch is shown.

    Return the id of the due index, or None if the session has no index.
    """
    index = TranscriptIndex.objects.filter(session=session).defer("data").first()
    access = access_of(session) if index is not None else None
    return _make_due([access], clock.database_now())[0] if access and _is_wanted(access) else None


def run(index_id: int) -> bool:
    """Update the index `index_id` to its conversation if it is due, and return whether it was updated.

    Idempotent: safe to run twice, late, or concurrently.
    """
    with transaction.atomic():
        hold(f"transcript {index_id}")
        due = TranscriptIndex.objects.filter(pk=index_id, due_at__lte=clock.database_now())
        index = due.select_related("session__owner").defer("data").first()
        if index is None:
            return False
        session, access = index.session, access_of(index.session)
        if access.keeps_transcript and access.transcript_space.pk != index.space_id:
            # It was shared, or made private: nothing of the index stays in the other space.
            index.delete()
            _make_due([access], clock.database_now())
            return False
        through = session.last_complete_seq()
        forgettings = Forgetting.objects.filter(space=index.space_id)
        known = forgettings.count()
        chunks, packed = build_chunks(access, through)
        current = locked_accesses([session.pk]).get(session.pk)
        if current is None or not current.keeps_transcript or current.transcript_space.pk != index.space_id:
            index.delete()
            return False
        if forgettings.count() != known:
            # It may contain words that were forgotten in between; the index is still due.
            return False
        if not _is_wanted(current):
            TranscriptIndex.objects.filter(pk=index_id).update(due_at=None)
            return False
        _write_chunks(index, chunks)
        fields = {
            "through_seq": through,
            "layout": LAYOUT_VERSION,
            "units": len(chunks),
            "data": packed,
            "embedded_by": None,
        }
        TranscriptIndex.objects.filter(pk=index_id).update(**fields)
        # Unless it has become due again in between.
        TranscriptIndex.objects.filter(pk=index_id, due_at=index.due_at).update(due_at=None)
    embed_transcript(index_id, during_save=True)
    return True


def build_chunks(access: MemoryAccess, through_seq: int) -> tuple[list[TranscriptChunk], bytes]:
    """Return the chunks of the transcript up to the message `through_seq`, and the packed index of them.

    An exchange, from one message of the person to their next, is a section. The files that are attached to a message
    come before it, as they do in a request, each in sections of its own.
    """
    said = list(transcript_messages(access, through_seq))
    files = attached_files.of_messages(access, kept_messages(access, through_seq))
    language = language_of("\n".join(one.text for one in said))
    names = speakers(chunk.text for one in said for chunk in chunks_of(one.text))
    chunks: list[TranscriptChunk] = []
    layout, terms = [], []
    section = 0
    # Of one message, the files come first.
    parts: list[AttachedFile | TranscriptMessage] = [*files, *said]
    for one in sorted(parts, key=lambda one: one.seq):
        message = one if isinstance(one, TranscriptMessage) else None
        first_section = section + (message is None or message.role == Message.Role.USER)
        for chunk in chunks_of(one.text):
            section = first_section + chunk.section
            found = terms_of(chunk.text, language)
            day = access.session.owner.day(one.at)
            key = text_key(embedded_text(chunk.text, names))
            line = message.line if message else 1
            chunks.append(
                TranscriptChunk(
                    ordinal=len(chunks),
                    start_line=line + chunk.start_line - 1,
                    end_line=line + chunk.end_line - 1,
                    text=chunk.text,
                    text_key=key,
                    seq=one.seq,
                    role=message.role if message else TranscriptChunk.OF_FILE,
                    at=one.at,
                    file_id=one.id if isinstance(one, AttachedFile) else None,
                )
            )
            layout.append((key, len(found), len(chunk.text), section, 0, day.toordinal(), flags_of(chunk, found)))
            terms += found
    return chunks, pack(layout, terms, LANGUAGES.index(language))


def due() -> list[int]:
    """Return the ids of at most DUE_MAX_COUNT indexes that are due by their row.

    Conversations without activity for IDLE_MINUTES become due first, and indexes of conversations that may no longer be
    searched are deleted.
    """
    obsolete = TranscriptIndex.objects.filter(Q(session__deleted_at__isnull=False) | ~Q(session__mode="agent"))
    obsolete.delete()
    for index in misplaced().select_related("session__owner", "session__agent").defer("data"):
        moved(index.session)
    idle_since = clock.database_now() - dt.timedelta(minutes=settings.IDLE_MINUTES)
    # Conversations without an index have neither.
    through, layout = (Coalesce(F(f"transcript_index__{name}"), 0) for name in ("through_seq", "layout"))
    behind = of_transcripts().filter(active_at__lt=idle_since, last_seq__gt=0).annotate(through=through, layout=layout)
    behind = behind.filter(Q(last_seq__gt=F("through")) | ~Q(layout=LAYOUT_VERSION))
    sessions = list(behind.select_related("owner", "agent").order_by("-active_at")[:DUE_MAX_COUNT])
    request_all(accesses_of(sessions).values())
    ready = TranscriptIndex.objects.filter(due_at__lte=clock.database_now()).order_by("due_at")
    return list(ready.values_list("pk", flat=True)[:DUE_MAX_COUNT])


def rebuild(sessions: Collection[uuid.UUID]) -> None:
    """Delete the indexes of `sessions` at once, because lines were forgotten, and make them due to be built again."""
    for index in TranscriptIndex.objects.filter(session__in=sessions).select_related("session__owner").defer("data"):
        index.delete()
        _make_due([access_of(index.session)], clock.database_now())


def misplaced() -> QuerySet[TranscriptIndex]:
    """Return the indexes that are in another space than their conversation belongs to now."""
    shared = Q(session__shared_at__isnull=False)
    return TranscriptIndex.objects.filter(
        shared & ~Q(space=F("session__space")) | ~shared & ~Q(space__kind=Space.Kind.OWN)
    )


def moved(session: ChatSession) -> int | None:
    """Delete the index of a conversation that was shared or made private, and request it anew. Return the id of the
    space whose vectors to prune, or None."""
    left = forget(session)
    if left is not None:
        request(session)
    return left


def forget(session: ChatSession) -> int | None:
    """Delete the index of the conversation at once. Return the id of the space whose vectors to prune, or None."""
    index = TranscriptIndex.objects.filter(session=session).defer("data").first()
    if index is None:
        return None
    index.delete()
    return index.space_id


def _is_wanted(access: MemoryAccess) -> bool:
    return access.keeps_transcript and Switch.TRANSCRIPTS in access.on


def _bytes_after(session: ChatSession, seq: int) -> int:
    size = Func(F("text"), function="octet_length", output_field=IntegerField())
    return session.messages.filter(seq__gt=seq).aggregate(bytes=Sum(size))["bytes"] or 0


def _make_due(accesses: Sequence[MemoryAccess], at: Combinable) -> list[int]:
    indexes = [
        TranscriptIndex(owner=each.session.owner, session=each.session, space=each.transcript_space, due_at=at)
        for each in sorted(accesses, key=lambda each: each.session.pk)
    ]
    made = TranscriptIndex.objects.bulk_create(
        indexes, update_conflicts=True, unique_fields=["session"], update_fields=["due_at"]
    )
    return [index.pk for index in made]


def _write_chunks(index: TranscriptIndex, chunks: list[TranscriptChunk]) -> None:
    """Write the chunks that changed."""
    columns = ("start_line", "end_line", "text", "seq", "role", "at", "file_id")
    before = {row[0]: row[1:] for row in index.chunks.values_list("ordinal", *columns)}
    fresh = [chunk for chunk in chunks if before.get(chunk.ordinal) != tuple(getattr(chunk, name) for name in columns)]
    replaced = [chunk.ordinal for chunk in fresh if chunk.ordinal in before]
    index.chunks.filter(Q(ordinal__in=replaced) | Q(ordinal__gte=len(chunks))).delete()
    for chunk in fresh:
        chunk.index = index
    TranscriptChunk.objects.bulk_create(fresh, batch_size=1000)
