"""Keep what a person says about a line that memory has found, take it back, and say what it does.

It counts in later searches of that person alone (memory/search/opinions.py), and becomes a golden question of the
recall lab (memory/lab/golden.py).
"""

from django.db import transaction
from django.utils.formats import date_format
from django.utils.translation import gettext_lazy

from memory.lab import golden
from memory.models import GoldenQuestion, LineFeedback
from memory.provenance.shown import ShownMemory
from memory.search.opinions import packed_terms
from oneclaw.models import User, clock

Kind = LineFeedback.Kind

SENTENCES = {
    Kind.WRONG: gettext_lazy("You said on %(day)s that this is wrong. It ranks lower in your searches."),
    Kind.OUTDATED: gettext_lazy("You said on %(day)s that this is outdated. It ranks lower in your searches."),
    Kind.IRRELEVANT: gettext_lazy(
        "You said on %(day)s that this is not relevant here. It ranks lower for questions like this one."
    ),
    Kind.HELPFUL: gettext_lazy("You said on %(day)s that this helped. It ranks higher for questions like this one."),
}


def explained(said: LineFeedback, user: User) -> str:
    """Return what `user` said, on which day, and what it does."""
    return str(SENTENCES[Kind(said.kind)]) % {"day": date_format(user.day(said.created_at))}


@transaction.atomic
def give(user: User, shown: ShownMemory, kind: Kind) -> None:
    """Keep what `user` says about a memory, in place of what they said before. Do nothing when it is not there."""
    if shown.space is None or not shown.keys:
        return
    take_back(user, shown)
    question = shown.memory.question
    kept = None
    # The questions of a shared space are those of all its members, and the lab asks memory, not documents.
    if shown.space.is_private and not shown.memory.file_id:
        is_unwanted = kind != Kind.HELPFUL
        kept = golden.keep(shown.space, question, shown.text, is_unwanted=is_unwanted, is_from_feedback=True)
    terms, now = packed_terms(question), clock.read_database_time()
    rows = [
        LineFeedback(
            user=user,
            space=shown.space,
            text_key=key,
            kind=kind,
            question_terms=terms,
            golden=kept,
            created_at=now,
        )
        for key in set(shown.keys)
    ]
    # A second click may have been faster.
    LineFeedback.objects.bulk_create(rows, ignore_conflicts=True)


@transaction.atomic
def take_back(user: User, shown: ShownMemory) -> None:
    """Delete what `user` has said about a memory, and the golden question that it became."""
    rows = LineFeedback.objects.filter(user=user, space=shown.space, text_key__in=shown.keys)
    asked = list(rows.values_list("golden", flat=True))
    rows.delete()
    GoldenQuestion.objects.filter(pk__in=asked, is_from_feedback=True, feedback=None).delete()
