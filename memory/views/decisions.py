"""Take the person's answer to a decision about a saved line, from the card in the chat or from the inbox."""

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpResponse, HttpResponseBadRequest
from django.middleware.csrf import get_token
from django.shortcuts import get_object_or_404, redirect
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from memory.access.rights import may_edit
from memory.documents.write import DocumentError
from memory.forgetting import message_secrets
from memory.models import Decision
from memory.tools import decisions, saved
from oneclaw.audit.holds import HeldError
from oneclaw.people.requests import SignedInRequest
from oneclaw.text import InvalidTextError


@require_POST
def take_out_secret(request: SignedInRequest, decision_id: int) -> HttpResponse:
    """Take the secret that was masked before saving out of the conversation as well, and go back to it."""
    mine = Decision.objects.visible_to(request.user).filter(kind=Decision.Kind.SECRET)
    decision = get_object_or_404(mine.select_related("revision__message__session"), pk=decision_id)
    message = decision.revision.message
    if message is None or message.session.owner_id != request.user.pk:
        raise Http404
    try:
        message_secrets.take_out(message.session)
    except HeldError as refusal:
        messages.error(request, refusal.sentence)
    return redirect("conversation", message.session_id)


@require_POST
def decide(request: SignedInRequest, decision_id: int) -> HttpResponse:
    """Carry out the choice. Return the updated card to htmx, and a redirect to a page without scripts."""
    mine = Decision.objects.visible_to(request.user).select_related(
        "revision__message__session", "revision__space", "revision__document"
    )
    decision = get_object_or_404(mine, pk=decision_id)
    if not may_edit(request.user, decision.revision.space, decision.revision.document.path):
        raise PermissionDenied
    choice = request.POST.get("choice", "")
    if choice not in decisions.CHOICES[Decision.Kind(decision.kind)]:
        return HttpResponseBadRequest()
    refusal = ""
    try:
        also = [int(number) for number in request.POST.getlist("also") if number.isdecimal()]
        others = mine.filter(pk__in=also, revision=decision.revision_id, kind=decision.kind).exclude(pk=decision.pk)
        decisions.decide_together(decision, others.order_by("pk"), choice, request.user)
    except (DocumentError, InvalidTextError) as error:
        refusal = str(error)
    message = decision.revision.message
    card = saved.card_html(decision.revision, request.user, get_token(request), refusal) if request.htmx else ""
    if card:
        return HttpResponse(card)
    if refusal:
        messages.error(request, refusal)
    elif message is not None and request.POST.get("from") == "chat":
        return redirect("conversation", message.session_id)
    else:
        messages.success(request, _("Your decision was saved."))
    return redirect("memory_inbox")
