"""Keep texts that did not come from the person as suggestions, which wait for a yes.

source = matching.source_of(text, sources.text_sources_of(session))
if source is not None:
    wait(space, CURATED, text, source, session)
"""

from collections.abc import Iterable

from django.db.models import QuerySet

from chat.models import ChatSession
from memory.models import Suggestion
from memory.policy.suggested import text_hash
from memory.policy.tombstones import LineMatcher
from memory.trust.rule import SourceText
from oneclaw.models import Space, User, clock


def wait(
    space: Space,
    path: str,
    text: str,
    source: SourceText,
    session: ChatSession | None = None,
    message_id: int | None = None,
) -> Suggestion:
    """Return the suggestion of `text` for the document at `path`, made unless it was made before.

    A declined one stays declined. An accepted one waits again, because the document does not have it any more.
    Idempotent.
    """
    key = {"space": space, "path": path, "text_hash": text_hash(space.pk, text)}
    row = Suggestion(
        **key,
        text=text,
        kind=source.kind,
        name=source.name[: Suggestion.NAME_MAX_CHARS],
        session=session,
        message_id=message_id,
    )
    Suggestion.objects.bulk_create([row], ignore_conflicts=True)
    accepted = Suggestion.objects.filter(**key, status=Suggestion.Status.ACCEPTED)
    accepted.update(status=Suggestion.Status.WAITING, text=text, decided_at=None, revision=None)
    return Suggestion.objects.get(**key)


def waiting_for(user: User) -> "QuerySet[Suggestion]":
    """Return what waits for a yes of `user`, who may write it, the newest first."""
    return Suggestion.objects.writable_by(user).waiting().order_by("-created_at", "-pk")


def decline(suggestion: Suggestion) -> bool:
    """Decline the suggestion, and keep only the hash of its text; return whether it was still waiting. Idempotent."""
    waiting = Suggestion.objects.filter(pk=suggestion.pk).waiting()
    values = {"status": Suggestion.Status.DECLINED, "text": "", "name": ""}
    return bool(waiting.update(**values, decided_at=clock.database_now()))


def forget(space: Space, known: LineMatcher) -> int:
    """Delete the suggestions of `space` that hold forgotten words; return how many."""
    found = [row.pk for row in with_words(space, known)]
    return Suggestion.objects.filter(pk__in=found).delete()[0]


def with_words(space: Space, known: LineMatcher) -> Iterable[Suggestion]:
    """Yield the suggestions of `space` whose text or source holds words that `known` matches."""
    for row in Suggestion.objects.filter(space=space).waiting():
        if known.is_in_text(row.text) or known.is_in(row.name):
            yield row
