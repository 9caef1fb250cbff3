"""Serve the proposals for the memory of shared spaces: make one, answer one, take note of an answer."""

from collections.abc import Sequence

from django.contrib import messages
from django.http import Http404, HttpResponse, HttpResponseBadRequest
from django.middleware.csrf import get_token
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST

from memory.documents.write import DocumentError
from memory.models import MemoryRevision, Proposal
from memory.policy.tombstones import LineForgottenError
from memory.tools import decisions, proposals, saved
from memory.trust.proposals import decline, hear, withdraw
from memory.views.entries import back
from memory.views.forgetting import parsed_number
from oneclaw.models import Space, User
from oneclaw.people.requests import SignedInRequest
from oneclaw.text import InvalidTextError

# What can be said about a proposal.
ANSWERS = ("accept", "decline", "withdraw", "hear")
REFUSALS = (proposals.ProposalError, DocumentError, InvalidTextError)


def spaces_to_propose_to(user: User) -> Sequence[Space]:
    """Return the shared spaces to which `user` may propose lines: all that are not archived, also as a reader."""
    return list(Space.objects.visible_to(user).shared().filter(archived_at=None).order_by("name", "pk"))


@require_http_methods(["GET", "POST"])
def propose(request: SignedInRequest) -> HttpResponse:
    """Show the form for a proposal (`space`, `text`); POST makes it. From the card of a saved line (`revision`), htmx
    gets the updated card."""
    found = spaces_to_propose_to(request.user)
    if request.method == "GET":
        chosen = parsed_number(request.GET.get("space"))
        context = {"spaces": found, "text": request.GET.get("text", ""), "next": back(request), "chosen": chosen}
        return render(request, "memory/propose.html", context)
    space = next((each for each in found if each.pk == parsed_number(request.POST.get("space"))), None)
    if space is None:
        raise Http404
    source = saved_line(request) if "revision" in request.POST else None
    text = decisions.text_of(source).removeprefix("- ") if source else request.POST.get("text", "")
    kind = Proposal.Kind.SAVED if source else request.POST.get("kind", Proposal.Kind.WRITTEN)
    if kind not in (Proposal.Kind.SAVED, Proposal.Kind.LINE, Proposal.Kind.WRITTEN):
        return HttpResponseBadRequest()
    refusal, row = "", None
    try:
        row = proposals.propose(space, text, request.user, Proposal.Kind(kind), source=source)
    except REFUSALS as error:
        refusal = str(error)
    except LineForgottenError:
        refusal = forgotten_in(space)
    if (
        source is not None
        and request.htmx
        and (card := saved.card_html(source, request.user, get_token(request), refusal))
    ):
        return HttpResponse(card)
    if refusal:
        messages.error(request, refusal)
    elif row is not None:
        messages.success(request, said_of(row))
    if source is not None and source.message is not None:
        return redirect("conversation", source.message.session_id)
    return redirect(back(request))


@require_POST
def answer(request: SignedInRequest, proposal_id: int) -> HttpResponse:
    """Accept a proposal (with `text`, if it was edited), decline it, take it back, or note that it was declined."""
    rows = Proposal.objects.visible_to(request.user).select_related("space", "author", "decided_by")
    row = get_object_or_404(rows, pk=proposal_id)
    said = request.POST.get("answer", "")
    if said not in ANSWERS:
        return HttpResponseBadRequest()
    try:
        if said == "accept":
            seen_version = parsed_number(request.POST.get("seen_version"))
            decided = proposals.accept(row, request.user, request.POST.get("text"), seen_version)
            if decided.decided_by == request.user:
                messages.success(request, _("Saved to the memory of “%(space)s”.") % {"space": row.space.name})
            else:
                messages.info(request, _("Somebody else has answered this already."))
        elif said == "hear":
            hear(row, request.user)
        elif said == "withdraw" and withdraw(row, request.user):
            messages.success(request, _("Taken back."))
        elif said == "decline" and decline(row, request.user):
            messages.success(request, _("Declined."))
        else:
            if rows.waiting().filter(pk=row.pk).exists():
                proposals.check_decides(request.user, row)
            messages.info(request, _("Somebody else has answered this already."))
    except REFUSALS as error:
        messages.error(request, str(error))
    except LineForgottenError:
        messages.error(request, forgotten_in(row.space))
    asked = request.POST.get("next")
    return redirect(back(request) if asked else reverse("memory_inbox"))


def saved_line(request: SignedInRequest) -> MemoryRevision:
    """Return the change of the person's own memory that the form names. Raise Http404 for any other."""
    mine = MemoryRevision.objects.filter(space__owner=request.user, space__kind__in=Space.PRIVATE)
    rows = mine.select_related("document", "message__session")
    return get_object_or_404(rows, pk=parsed_number(request.POST.get("revision")))


def said_of(row: Proposal) -> str:
    """Return the sentence about a proposal that was just made."""
    words = _("Proposed to “%(space)s”. Another owner or editor decides.")
    if not row.is_waiting:
        words = _("Saved to the memory of “%(space)s”.")
    return words % {"space": row.space.name}


def forgotten_in(space: Space) -> str:
    """Return the sentence about a line that was forgotten in `space`."""
    return _("A line of it was forgotten in “%(space)s”, so it is not proposed.") % {"space": space.name}
