"""Serve the card of the walk: three steps that show a new person of a demo installation what memory does, and the way
to what it remembers."""

import uuid
from http import HTTPStatus

from django.http import HttpResponse
from django.middleware.csrf import get_token
from django.shortcuts import redirect
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_GET, require_POST

from chat.models import ChatSession
from memory.models import MemoryRevision
from memory.policy.same_words import words_of
from memory.tools import decisions
from memory.walk import progress
from oneclaw import llm
from oneclaw.models import User
from oneclaw.people.requests import SignedInRequest

LABELS = {
    progress.SAVED: _("Save"),
    progress.MOVED: _("New conversation"),
    progress.RECALLED: _("Ask"),
}


@require_GET
def walk_page(request: SignedInRequest, session_id: uuid.UUID) -> HttpResponse:
    """Show the card as it is now, on the page of the conversation `session_id`; status 204 when there is none."""
    shown = card(request.user, session_id, get_token(request))
    return HttpResponse(shown) if shown else HttpResponse(status=HTTPStatus.NO_CONTENT)


@require_POST
def close_walk(request: SignedInRequest, session_id: uuid.UUID) -> HttpResponse:
    """Close the walk for good. Return nothing to htmx, and a redirect to a page without scripts."""
    progress.close(progress.walk_of(request.user))
    if request.htmx:
        return HttpResponse()
    session = ChatSession.objects.private_to(request.user).filter(pk=session_id).first()
    return redirect(session or "chat")


def card(user: User, session_id: uuid.UUID, csrf_token: str) -> SafeString:
    """Return the card on the page of the conversation `session_id`, which may be a new one; "" when there is none.

    It is shown while the demo model answers, until the person has done all steps or closed it. The card of the last
    step is returned once.
    """
    walk = progress.walk_of(user) if llm.is_demo() else None
    if walk is None or walk.closed_at:
        return SafeString()
    save = progress.first_save(user)
    progress.advance(walk, save)
    is_done = {step: bool(getattr(walk, step)) for step in progress.STEPS}
    is_where_saved = save is not None and save.session_id == session_id
    # A new conversation has no row before its first message.
    is_done[progress.MOVED] |= save is not None and not is_where_saved
    current = next((step for step in progress.STEPS if not is_done[step]), "")
    context = {"session_id": session_id, "csrf_token": csrf_token, "current": current, "is_where_saved": is_where_saved}
    context["steps"] = [(name, LABELS[name], is_done[name]) for name in progress.STEPS]
    if not current and save is not None:
        context["address"] = address_of(save.revision)
    return render_to_string("memory/_walk.html", context)


def address_of(revision: MemoryRevision) -> str:
    """Return the address on the memory page of the line that `revision` has saved; of the page when it is gone."""
    document, saved = revision.document, words_of(decisions.text_of(revision))
    lines = enumerate(document.content.split("\n"), 1)
    number = next((number for number, line in lines if saved and words_of(line) == saved), None)
    return reverse("memory") + (f"#line-{document.version}-{number}" if number else "")
