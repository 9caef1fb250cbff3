"""Say what waits for the person about each line of a document, for the pages that show the lines."""

from collections import defaultdict

from django.urls import reverse
from django.utils.formats import date_format
from django.utils.translation import gettext as _

from memory.models import Decision, MemoryDocument, Review
from memory.tools import decisions, reviews
from oneclaw.models import User

# For each line, by its number from 1: sentences, each with the address of its item in the inbox.
WaitingAbout = dict[int, list[tuple[str, str]]]


def waiting_about(user: User, document: MemoryDocument) -> WaitingAbout:
    """Return what waits for `user` about the lines of `document`."""
    found: WaitingAbout = defaultdict(list)
    for shown in reviews.pending(user):
        if shown.review.document_id == document.pk:
            found[shown.line + 1].append((_sentence(shown), address("review", shown.review.pk)))
    rows = Decision.objects.visible_to(user).undecided().filter(revision__document=document).order_by("created_at")
    content = document.content
    for question in decisions.questions(rows.select_related("revision__document", "revision__message")):
        url = address("decision", question.decision.pk)
        if question.decision.kind == Decision.Kind.SECRET:
            found[_line_of(question.new, content)].append((_("A secret was removed from it. Keep it so?"), url))
            continue
        is_same = question.decision.kind == Decision.Kind.SAME
        newer = _("A newer line says the same") if is_same else _("A newer line contradicts it")
        older = _("It says the same as an older line") if is_same else _("It contradicts an older line")
        for pending in (question, *question.others):
            at = decisions.line_of_older(pending.decision, content)
            if at is not None:
                found[at + 1].append((newer, url))
        found[_line_of(question.new, content)].append((older, url))
    return found


def address(kind: str, pk: int) -> str:
    """Return the address of an item in the inbox: of a review, which is then asked first, a decision or suggestion."""
    first = {"review": pk} if kind == "review" else {}
    return reverse("memory_inbox", query=first, fragment=f"{kind}-{pk}")


def _sentence(shown: reviews.PendingReview) -> str:
    if shown.review.day is not None:
        return _("%(day)s has passed. Still true?") % {"day": date_format(shown.review.day, "DATE_FORMAT")}
    if shown.review.kind == Review.Kind.SUPERSEDED:
        return _("A newer line says otherwise")
    return _("Is this still true?")


def _line_of(text: str, content: str) -> int:
    """Return the number, from 1, of the line of `content` at which `text` begins. It is in there."""
    return f"\n{content}\n".partition(f"\n{text}\n")[0].count("\n") + 1
