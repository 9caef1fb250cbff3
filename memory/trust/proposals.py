"""Keep lines that members propose for the curated memory of a shared space, until another member answers."""

from collections.abc import Iterable, Sequence

from django.db.models import Q, QuerySet

from memory.models import MemoryRevision, Proposal
from memory.policy.suggested import text_hash
from memory.policy.tombstones import LineMatcher
from oneclaw.models import Space, User, clock

State = Proposal.State


def wait(
    space: Space,
    text: str,
    author: User,
    kind: Proposal.Kind,
    source: MemoryRevision | None = None,
    message_id: int | None = None,
    writers: Sequence[int] = (),
    base_version: int | None = None,
    program: str = "",
) -> Proposal:
    """Return the waiting proposal of `text` for `space`, made unless it waits already; `writers` are the ids of others
    whose words it may hold, `base_version` is that of the instructions that it replaces, `program` the name of the one
    that proposes it. Idempotent."""
    key = {"space": space, "text_hash": text_hash(space.pk, text), "state": State.WAITING}
    about = {
        "kind": kind,
        "source": source,
        "message_id": message_id,
        "writers": list(writers) or None,
        "program": program[:200],
    }
    row = Proposal(**key, text=text, author=author, base_version=base_version, **about)
    Proposal.objects.bulk_create([row], ignore_conflicts=True)
    found = Proposal.objects.filter(**key).select_related("space").first()
    # Without one it was answered in between: it is proposed again.
    return found or wait(space, text, author, kind, source, message_id, writers, base_version, program)


def to_decide(user: User) -> QuerySet[Proposal]:
    """Return what `user` may accept or decline, the newest first."""
    rows = Proposal.objects.to_decide_by(user).select_related("space", "author")
    return rows.order_by("-created_at", "-pk")


def declined_of(user: User) -> QuerySet[Proposal]:
    """Return the declined proposals that `user` has not taken note of, the newest first."""
    rows = Proposal.objects.to_hear_by(user).select_related("space", "decided_by")
    return rows.order_by("-decided_at", "-pk")


def decline(proposal: Proposal, user: User) -> bool:
    """Decline the proposal, if `user` may and it still waits; return whether it was. Idempotent."""
    waiting = Proposal.objects.to_decide_by(user).filter(pk=proposal.pk)
    return bool(_answered(waiting, State.DECLINED, user))


def withdraw(proposal: Proposal, user: User) -> bool:
    """Take back a proposal of `user` that still waits; return whether it did. Idempotent."""
    waiting = Proposal.objects.visible_to(user).waiting().filter(pk=proposal.pk, author=user)
    return bool(_answered(waiting, State.WITHDRAWN, user))


def hear(proposal: Proposal, user: User) -> None:
    """Note that the author has read that the proposal was declined. Idempotent."""
    Proposal.objects.to_hear_by(user).filter(pk=proposal.pk).update(heard_at=clock.database_now())


def forget(space: Space, known: LineMatcher) -> int:
    """Delete the proposals for `space` that hold forgotten words; return how many."""
    found = [row.pk for row in with_words(space, known)]
    return Proposal.objects.filter(pk__in=found).delete()[0]


def with_words(space: Space, known: LineMatcher) -> Iterable[Proposal]:
    """Yield the proposals for `space` whose text holds words that `known` matches, the answered ones included."""
    for row in Proposal.objects.filter(space=space).iterator(chunk_size=500):
        if known.is_in_text(row.text) or known.is_in_text(row.accepted_text):
            yield row


def _answered(rows: QuerySet[Proposal], state: Proposal.State, user: User) -> int:
    # By ids and by the state: a concurrent answer is not overwritten.
    waiting = Proposal.objects.filter(Q(pk__in=list(rows.values_list("pk", flat=True))), state=State.WAITING)
    return waiting.update(state=state, decided_by=user, decided_at=clock.database_now())
