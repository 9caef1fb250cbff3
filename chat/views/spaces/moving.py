"""Move a private conversation into a space and back, and say who can see a conversation."""

import uuid

from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_GET, require_http_methods

from chat.attachments import store
from chat.conversations import lifecycle
from chat.conversations.model_choice import open_spaces
from chat.library import spaces
from chat.library.viewers import viewers
from chat.views.own import own_session
from chat.views.spaces.members import number
from oneclaw.audit.holds import HeldError
from oneclaw.people.requests import SignedInRequest


@require_http_methods(["GET", "POST"])
def move(request: SignedInRequest, session_id: uuid.UUID) -> HttpResponse:
    """Show the spaces into which the conversation can move, and what becomes visible (GET), or move it (POST)."""
    session = own_session(request.user, session_id, "space")
    if session.owner_id != request.user.pk:
        raise Http404
    open_to, refusal = open_spaces(request.user), ""
    if request.method == "POST":
        chosen = request.POST.get("space", "")
        to = get_object_or_404(open_to, pk=number(chosen)) if chosen else None
        try:
            spaces.move(request.user, session.pk, to)
        except (spaces.SharedConversationError, HeldError) as error:
            refusal = error.sentence
        except lifecycle.SessionNotFoundError:
            raise Http404 from None
        else:
            return redirect(session)
    context = {"session": session, "spaces": open_to, "refusal": refusal}
    return render(request, "chat/spaces/move.html", context, status=409 if refusal else 200)


@require_GET
def session_viewers(request: SignedInRequest, session_id: uuid.UUID) -> HttpResponse:
    """Show who can see the conversation, and why."""
    session = own_session(request.user, session_id, "space", "owner")
    return render(request, "chat/spaces/session_viewers.html", {"session": session, "viewers": viewers(session)})


@require_GET
def file_viewers(request: SignedInRequest, attachment_id: uuid.UUID) -> HttpResponse:
    """Show who can see an attached file that the person can see, and why."""
    file = store.visible_file(request.user, attachment_id)
    if file is None:
        raise Http404
    context = {"file": file, "session": file.session, "viewers": viewers(file)}
    return render(request, "chat/spaces/session_viewers.html", context)
