"""When and how a conversation gets into the search index: by its row, due once enough was said, or once it is left."""

import datetime as dt
import uuid
from collections.abc import Collection

from django.conf import settings
from django.db import transaction
from django.db.models import F, Func, IntegerField, Q, Sum
from django.db.models.functions import Coalesce
from django.utils import timezone

from chat.models import ChatSession, Message
from memory.index.documents import flags_of
from memory.index.transcripts import is_kept, said_in
from memory.index.vectors import embed_transcript, embedded_text
from memory.models import Forgetting, TranscriptChunk, TranscriptIndex
from memory.policy import switches
from memory.policy.access import locked
from memory.policy.switches import Switch
from memory.text.chunking import speakers, units
from memory.text.index_format import LAYOUT, pack, text_key
from memory.text.languages import NAMES as LANGUAGES
from memory.text.languages import language_of
from memory.text.terms import terms_of
from oneclaw.locks import hold
from oneclaw.models import Space

# Messages, or bytes of text, that have come since it was indexed; and seconds without a further turn.
MESSAGES, BYTES, DEBOUNCE = 50, 100 * 1024, 5.0


def after_turn(session: ChatSession) -> int | None:
    """A turn has ended: the index that is due DEBOUNCE seconds from now, when enough has come; else None."""
    if not _is_wanted(session):
        return None
    index = TranscriptIndex.objects.filter(session=session).defer("data").first()
    through = index.through_seq if index else 0
    fresh = session.last_seq - through
    if fresh < MESSAGES and _bytes_after(session, through) < BYTES:
        return None
    if index is not None and index.due_at is not None and fresh >= 2 * MESSAGES:
        # A conversation that never rests is not put off for ever.
        return index.pk
    return _due(session, timezone.now() + dt.timedelta(seconds=DEBOUNCE))


def request(session: ChatSession) -> int | None:
    """The session is left or over: its index, due now; None when that holds all of it, and when it may not."""
    if not _is_wanted(session):
        return None
    index = TranscriptIndex.objects.filter(session=session).defer("data").first()
    if index is not None and index.layout == LAYOUT and index.through_seq >= session.last_complete_seq():
        return None
    return _due(session, timezone.now()) if session.last_complete_seq() else None


def after_switch(session: ChatSession) -> int | None:
    """Another branch is shown: the session's index, due now, if there is one."""
    index = TranscriptIndex.objects.filter(session=session).defer("data").first()
    return _due(session, timezone.now()) if index is not None and _is_wanted(session) else None


def run(index_id: int) -> bool:
    """Bring this index up to its conversation, if it is due. Safe to run twice, late, or beside another."""
    with transaction.atomic():
        hold(f"transcript {index_id}")
        due = TranscriptIndex.objects.filter(pk=index_id, due_at__lte=timezone.now())
        index = due.select_related("session__owner").defer("data").first()
        if index is None:
            return False
        session = index.session
        through = session.last_complete_seq()
        forgettings = Forgetting.objects.filter(space=index.space_id)
        known = forgettings.count()
        chunks, packed = made(session, through)
        if locked(session.pk) is None or not is_kept(session):
            index.delete()
            return False
        if forgettings.count() != known:
            # It was made of words that may be forgotten by now; the index is still due.
            return False
        if not switches.is_on(session.owner, Switch.TRANSCRIPTS):
            TranscriptIndex.objects.filter(pk=index_id).update(due_at=None)
            return False
        _write(index, chunks)
        fields = {"through_seq": through, "layout": LAYOUT, "units": len(chunks), "data": packed, "embedded_by": None}
        TranscriptIndex.objects.filter(pk=index_id).update(**fields)
        # Not when it has become due anew meanwhile.
        TranscriptIndex.objects.filter(pk=index_id, due_at=index.due_at).update(due_at=None)
    embed_transcript(index_id, only_at_once=True)
    return True


def made(session: ChatSession, through_seq: int) -> tuple[list[TranscriptChunk], bytes]:
    """The units of a transcript, and what a search reads of them. An exchange, from one message of the person to their
    next, is a section."""
    said = list(said_in(session, through_seq))
    language = language_of("\n".join(one.text for one in said))
    cut = [(one, unit) for one in said for unit in units(one.text)]
    names = speakers(unit.text for _, unit in cut)
    chunks: list[TranscriptChunk] = []
    layout, terms = [], []
    section, seq, begun = 0, 0, 0
    for one, unit in cut:
        if one.seq != seq:
            begun, seq = section + (one.role == Message.Role.USER), one.seq
        section = begun + unit.section
        found = terms_of(unit.text, language)
        day = session.owner.day(one.at)
        key = text_key(embedded_text(unit.text, names))
        chunks.append(
            TranscriptChunk(
                ordinal=len(chunks),
                start_line=one.line + unit.start_line - 1,
                end_line=one.line + unit.end_line - 1,
                text=unit.text,
                text_key=key,
                seq=one.seq,
                role=one.role,
                at=one.at,
            )
        )
        layout.append((key, len(found), len(unit.text), section, 0, day.toordinal(), flags_of(unit, found)))
        terms += found
    return chunks, pack(layout, terms, LANGUAGES.index(language))


def due(limit: int = 200) -> list[int]:
    """The indexes that somebody should bring up to date now: those due by their row, and those of conversations that
    have rested for IDLE_MINUTES. Forgets what may not be found any more."""
    gone = TranscriptIndex.objects.filter(Q(session__deleted_at__isnull=False) | ~Q(session__mode="agent"))
    gone.delete()
    rested = timezone.now() - dt.timedelta(minutes=settings.IDLE_MINUTES)
    kept = ChatSession.objects.filter(mode=ChatSession.Mode.AGENT, deleted_at=None, active_at__lt=rested)
    kept = kept.exclude(owner__in=switches.people_without(Switch.TRANSCRIPTS)).exclude(key__regex=ChatSession.SPAWNED)
    kept = kept.exclude(agent__own_memory=True)
    # Those without an index have neither.
    through, layout = (Coalesce(F(f"transcript_index__{name}"), 0) for name in ("through_seq", "layout"))
    behind = kept.annotate(through=through, layout=layout).filter(last_seq__gt=0)
    behind = behind.filter(Q(last_seq__gt=F("through")) | ~Q(layout=LAYOUT))
    for session in behind.select_related("owner").order_by("-active_at")[:limit]:
        request(session)
    ready = TranscriptIndex.objects.filter(due_at__lte=timezone.now()).order_by("due_at")
    return list(ready.values_list("pk", flat=True)[:limit])


def begin_again(sessions: Collection[uuid.UUID]) -> None:
    """Something that was said in these conversations was forgotten: their index goes at once, and is made anew."""
    for index in TranscriptIndex.objects.filter(session__in=sessions).select_related("session__owner").defer("data"):
        index.delete()
        _due(index.session, timezone.now())


def forget(session: ChatSession) -> int | None:
    """Take the conversation out of the index, at once. Returns the space whose vectors are to be pruned, if any."""
    index = TranscriptIndex.objects.filter(session=session).defer("data").first()
    if index is None:
        return None
    index.delete()
    return index.space_id


def _is_wanted(session: ChatSession) -> bool:
    return is_kept(session) and switches.is_on(session.owner, Switch.TRANSCRIPTS)


def _bytes_after(session: ChatSession, seq: int) -> int:
    size = Func(F("text"), function="octet_length", output_field=IntegerField())
    return session.messages.filter(seq__gt=seq).aggregate(bytes=Sum(size))["bytes"] or 0


def _due(session: ChatSession, at: dt.datetime) -> int:
    index = TranscriptIndex(owner=session.owner, session=session, space=Space.objects.own_of(session.owner), due_at=at)
    (made,) = TranscriptIndex.objects.bulk_create(
        [index], update_conflicts=True, unique_fields=["session"], update_fields=["due_at"]
    )
    return made.pk


def _write(index: TranscriptIndex, chunks: list[TranscriptChunk]) -> None:
    """Write what changed."""
    columns = ("start_line", "end_line", "text", "seq", "role", "at")
    stood = {row[0]: row[1:] for row in index.chunks.values_list("ordinal", *columns)}
    fresh = [chunk for chunk in chunks if stood.get(chunk.ordinal) != tuple(getattr(chunk, name) for name in columns)]
    replaced = [chunk.ordinal for chunk in fresh if chunk.ordinal in stood]
    index.chunks.filter(Q(ordinal__in=replaced) | Q(ordinal__gte=len(chunks))).delete()
    for chunk in fresh:
        chunk.index = index
    TranscriptChunk.objects.bulk_create(fresh, batch_size=1000)
