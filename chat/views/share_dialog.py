"""Share a conversation with a space, after its owner has read what becomes visible, and make it private again."""

import uuid

from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_POST

from chat.conversations import lifecycle, transcript
from chat.conversations.shared import share as sharing
from chat.models import ChatSession
from chat.views import toasts
from chat.views.own import managed_session
from chat.views.toasts import Toast
from oneclaw.audit.holds import HeldError
from oneclaw.models import Space
from oneclaw.people.requests import SignedInRequest
from oneclaw.reasons import Reason

REFUSALS = (sharing.NotShareableWithSpaceError, sharing.NoSpaceError, transcript.SessionBusyError, HeldError)


@require_http_methods(["GET", "POST"])
def share_with_space(request: SignedInRequest, session_id: uuid.UUID) -> HttpResponse:
    """Show with whom the conversation can be shared and what they would see (GET, `space` is the chosen one), or share
    it with the members of `space` (POST)."""
    session = managed_session(request.user, session_id, "space")
    is_own = session.owner_id == request.user.pk
    spaces = sharing.spaces_for(request.user) if is_own else []
    fields = request.POST if request.method == "POST" else request.GET
    space = chosen(spaces, session, fields.get("space", ""))
    refusal = "" if sharing.is_shareable(session) else sharing.NotShareableWithSpaceError().sentence
    if request.method == "POST":
        try:
            sharing.share(request.user, session, space or Space())
        except REFUSALS as error:
            refusal = error.sentence
        except lifecycle.SessionNotFoundError:
            raise Http404 from None
        else:
            toasts.keep(request, Toast(Reason("conversation.shared", {"space": space.name if space else ""})))
            return redirect(session)
    context = {
        "session": session,
        "is_own": is_own,
        "spaces": spaces,
        "about": sharing.about(session, space) if space and not session.is_shared else None,
        "refusal": refusal,
    }
    return render(request, "chat/share_with_space.html", context, status=422 if request.method == "POST" else 200)


def chosen(spaces: list[Space], session: ChatSession, asked: str) -> Space | None:
    """Return the space with the id `asked`; without one that of the conversation, else the first."""
    wanted = asked or str(session.space_id or "")
    found = next((space for space in spaces if str(space.pk) == wanted), None)
    return found or (spaces[0] if spaces and not asked else None)


@require_POST
def make_private(request: SignedInRequest, session_id: uuid.UUID) -> HttpResponse:
    """Make the shared conversation private to the person who began it."""
    session = managed_session(request.user, session_id)
    try:
        sharing.unshare(request.user, session)
    except transcript.SessionBusyError:
        toasts.keep(request, Toast(Reason("conversation.busy"), bad=True))
        return redirect(session)
    except lifecycle.SessionNotFoundError:
        raise Http404 from None
    toasts.keep(request, Toast(Reason("conversation.private")))
    # An owner of the space may not see it any more.
    return redirect(session) if session.owner_id == request.user.pk else redirect("chat")
