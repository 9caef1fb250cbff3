"""The pages of the chat: fetch, call one thing, render."""

import uuid

from django.conf import settings
from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpResponse, HttpResponseBase
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from chat import sessions, transcript, turns
from chat.fragments import page_messages
from chat.models import ChatSession, Message
from oneclaw import llm
from oneclaw.crossing import in_database
from oneclaw.http import SignedInRequest
from oneclaw.text import BadText, checked

# Conversations that the sidebar shows at once.
LISTED = 100


@login_required
@require_GET
def new_chat(request: SignedInRequest) -> HttpResponse:
    """A page for a conversation that begins with its first message; the page knows its id from the start."""
    return page(request, uuid.uuid4(), None)


@login_required
@require_GET
def conversation(request: SignedInRequest, session_id: uuid.UUID) -> HttpResponse:
    return page(request, session_id, own_session(request, session_id))


def page(request: SignedInRequest, session_id: uuid.UUID, session: ChatSession | None) -> HttpResponse:
    messages = session.messages.shown().select_related("turn") if session else Message.objects.none()
    context = {
        "session_id": session_id,
        "session": session,
        "messages_html": page_messages(messages),
        "sessions": listed(request),
        "client_id": uuid.uuid4(),
        "longest": settings.MESSAGE_LENGTH,
        "is_demo": llm.is_demo(),
        "has_model": bool(settings.ANTHROPIC_API_KEY or settings.ANTHROPIC_BASE_URL or settings.DEMO_URL),
    }
    return render(request, "chat/page.html", context)


def listed(request: SignedInRequest) -> list[ChatSession]:
    return list(ChatSession.objects.visible_to(request.user).listed()[:LISTED])


def own_session(request: SignedInRequest, session_id: uuid.UUID) -> ChatSession:
    return get_object_or_404(ChatSession.objects.visible_to(request.user), pk=session_id)


@login_required
@require_GET
def session_list(request: SignedInRequest) -> HttpResponse:
    """The sidebar's list; `current` is the session that the page shows."""
    return render(
        request, "chat/_sessions.html", {"sessions": listed(request), "session_id": request.GET.get("current", "")}
    )


@login_required
@require_http_methods(["GET", "POST"])
def rename(request: SignedInRequest, session_id: uuid.UUID) -> HttpResponse:
    """GET: the form in place of the list's row. POST: the new title."""
    session = own_session(request, session_id)
    if request.method == "POST":
        title = request.POST.get("title", "")
        if title.strip():
            sessions.rename(session, title.replace("\0", ""))
        if not request.htmx:
            return redirect(session)
        return render(
            request, "chat/_session.html", {"session": session, "session_id": request.POST.get("current", "")}
        )
    return render(request, "chat/_rename.html", {"session": session, "current": request.GET.get("current", "")})


@login_required
@require_POST
def delete(request: SignedInRequest, session_id: uuid.UUID) -> HttpResponse:
    session = own_session(request, session_id)
    sessions.delete(session)
    if not request.htmx:
        return redirect("chat")
    response = HttpResponse()
    if request.POST.get("current") == str(session_id):
        response["HX-Redirect"] = reverse("chat")
    return response


@login_required
@require_GET
def messages_after(request: SignedInRequest, session_id: uuid.UUID) -> HttpResponse:
    """The shown messages with a place after `after`, as articles: what a page without a socket asks for."""
    after = request.GET.get("after", "0")
    if not after.isascii() or not after.isdigit() or len(after) > 18:
        raise Http404
    session = own_session(request, session_id)
    messages = session.messages.shown().filter(seq__gt=int(after)).select_related("turn")
    return HttpResponse("".join(page_messages(messages)))


@login_required
@require_POST
async def send(request: SignedInRequest, session_id: uuid.UUID) -> HttpResponseBase:
    """A message without a socket: the same as the frame `send`, with the same client_id."""
    user = await request.auser()
    try:
        client_id = uuid.UUID(request.POST.get("client_id", ""))
        text = checked(request.POST.get("text"), longest=settings.MESSAGE_LENGTH)
        accepted = await in_database(transcript.accept, user, session_id, client_id, text)
    except sessions.SessionNotFound:
        raise Http404 from None
    except BadText as refusal:
        return HttpResponse(refusal.sentence, status=422, content_type="text/plain; charset=utf-8")
    except ValueError:
        return HttpResponse("client_id must be a UUID.", status=400, content_type="text/plain; charset=utf-8")
    except (transcript.Busy, transcript.Conflict) as refusal:
        return HttpResponse(str(refusal.__doc__), status=409, content_type="text/plain; charset=utf-8")
    if accepted.turn is not None and accepted.answer is not None:
        turns.start(accepted.turn, accepted.answer)
    return redirect("conversation", session_id=session_id)


@login_required
@require_POST
def stop(request: SignedInRequest, session_id: uuid.UUID) -> HttpResponse:
    session = own_session(request, session_id)
    transcript.request_stop(request.user, session.pk, None)
    return redirect(session)
