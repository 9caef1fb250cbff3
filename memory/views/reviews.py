"""Serve the questions whether lines are still true: one at a time, each answer with Undo."""

from dataclasses import dataclass
from typing import Any

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpResponse, HttpResponseBadRequest, QueryDict
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from memory.access.rights import may_edit
from memory.documents.merge import OverlapError
from memory.documents.write import DocumentError
from memory.models import MemoryRevision, Review
from memory.overview.entries import entries_with
from memory.tools import reviews
from memory.tools.reviews import PendingReview
from memory.views.forgetting import parsed_number
from oneclaw.people.requests import SignedInRequest

# More than that are not counted in one look.
SITTING_MAX_ANSWERS = 200
YES, NO, LATER = "yes", "no", "later"


@dataclass(frozen=True)
class Sitting:
    """One look through the questions, kept in the address and in the forms: how many were answered, which were put off
    until the next look, and which is asked first. `last` is the review that was answered last with `choice`, by the
    revision `change`."""

    done: int = 0
    later: tuple[int, ...] = ()
    first: int | None = None
    last: int | None = None
    choice: str = ""
    change: int | None = None

    @classmethod
    def read(cls, query: QueryDict) -> "Sitting":
        """Return the look of an address or a form; what is malformed counts as missing."""
        later = (parsed_number(each) for each in query.get("later", "").split(",")[:SITTING_MAX_ANSWERS])
        return cls(
            done=min(parsed_number(query.get("done")) or 0, SITTING_MAX_ANSWERS),
            later=tuple(each for each in later if each),
            first=parsed_number(query.get("review")),
            last=parsed_number(query.get("last")),
            choice=query.get("choice", "") if query.get("choice") in (YES, NO, LATER) else "",
            change=parsed_number(query.get("change")),
        )

    @property
    def query(self) -> dict[str, str | int]:
        """Return the look as the query of an address, and as the fields of a form."""
        values: dict[str, str | int] = {
            "done": self.done,
            "later": ",".join(map(str, self.later)),
            "last": self.last or 0,
            "choice": self.choice,
            "change": self.change or 0,
        }
        return {name: value for name, value in values.items() if value}


def review_card(request: SignedInRequest, sitting: Sitting) -> dict[str, Any]:
    """Return what memory/_review.html shows: the next question, how far the look is, and the last answer."""
    rest = [each for each in reviews.pending(request.user) if each.review.pk not in sitting.later]
    rest.sort(key=lambda each: each.review.pk != sitting.first)
    before = sitting.done + len(sitting.later)
    said = {YES: _("Kept: still true."), NO: _("Removed: not true any more."), LATER: _("Asked again later.")}
    return {
        "review": rest[0] if rest else None,
        "saved_on": saved_on(rest[0], request) if rest else None,
        "number": before + 1,
        "count": before + len(rest),
        "bars": [index < before for index in range(before + len(rest))],
        "sitting": sitting,
        "answered": said.get(sitting.choice, "") if sitting.last else "",
    }


def saved_on(shown: PendingReview, request: SignedInRequest) -> Any:
    """Return the person's day on which the line was written; None when the history does not say it."""
    entries = entries_with(shown.review.document, [shown.line + 1])
    numbers = [entry.revision for entry in entries]
    at = shown.review.document.revisions.filter(number__in=numbers).values_list("created_at", flat=True).first()
    return request.user.day(at) if at else None


@require_POST
def answer_review(request: SignedInRequest, review_id: int) -> HttpResponse:
    """Keep a line because it is still true, delete it, or ask again at the next look; go on to the next question."""
    sitting, choice = Sitting.read(request.POST), request.POST.get("answer", "")
    shown = next((each for each in reviews.pending(request.user) if each.review.pk == review_id), None)
    if shown is None:
        raise Http404
    if not may_edit(request.user, shown.review.document.space, shown.review.document.path):
        raise PermissionDenied
    if choice == LATER:
        return _next(request, Sitting(sitting.done, (*sitting.later, review_id), None, review_id, choice))
    if choice not in (YES, NO):
        return HttpResponseBadRequest()
    try:
        change = reviews.answer(shown, choice, request.user)
    except OverlapError:
        return _next(request, sitting, _("That line was changed in the meantime, so it was not deleted."))
    number = change.pk if change else None
    return _next(request, Sitting(sitting.done + 1, sitting.later, None, review_id, choice, number))


@require_POST
def take_back_answer(request: SignedInRequest, review_id: int) -> HttpResponse:
    """Take back the answer to a question, and ask it again."""
    sitting = Sitting.read(request.POST)
    mine = Review.objects.visible_to(request.user).select_related("document__space")
    review = get_object_or_404(mine, pk=review_id)
    if not may_edit(request.user, review.document.space, review.document.path):
        raise PermissionDenied
    if review_id in sitting.later:
        later = tuple(each for each in sitting.later if each != review_id)
        return _next(request, Sitting(sitting.done, later, review_id))
    changes = MemoryRevision.objects.filter(document=review.document, author=request.user, pk=sitting.change or 0)
    try:
        reviews.take_back(review, changes.first(), request.user)
    except DocumentError as error:
        return _next(request, sitting, str(error))
    return _next(request, Sitting(max(sitting.done - 1, 0), sitting.later, review_id))


def _next(request: SignedInRequest, sitting: Sitting, refusal: str = "") -> HttpResponse:
    """Return the card with the next question to htmx, and a redirect to the page without scripts."""
    if request.htmx:
        context = review_card(request, sitting) | {"refusal": refusal, "is_fresh": True}
        return render(request, "memory/_review.html", context)
    if refusal:
        messages.error(request, refusal)
    first = {"review": sitting.first} if sitting.first else {}
    return redirect(reverse("memory_inbox", query=sitting.query | first))
