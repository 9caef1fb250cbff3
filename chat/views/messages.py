"""The actions of one message, for pages with and without a script: fetch, call one thing, render."""

import uuid

from django.core.exceptions import SuspiciousOperation
from django.http import Http404, HttpResponse, HttpResponseBadRequest, HttpResponseBase
from django.shortcuts import redirect, render
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from chat import extensions
from chat.context.cache_misses import reason_of_miss
from chat.conversations import branches, forking, lifecycle, model_choice, transcript
from chat.conversations.shown import read_with_authors
from chat.library import ratings
from chat.live.errors import FrameError
from chat.live.frames import EditFrame, RetryFrame, frame_of
from chat.live.handle import handle
from chat.models import ChatSession, Message, Rating
from chat.rendering.citations import SOURCES_KEY
from chat.rendering.details import details_of
from chat.rendering.shown import ShownMessage
from chat.turns import retry
from chat.turns.admission import NOT_NOW_ERRORS
from chat.views import toasts
from chat.views.toasts import Toast
from oneclaw.models import User
from oneclaw.people.requests import SignedInRequest
from oneclaw.reasons import Reason, verbatim
from oneclaw.text import InvalidTextError
from oneclaw.threads import in_database

# The answer to an action that is not possible while an answer is running.
BUSY = Reason("conversation.busy")
# Another tab has changed or deleted the conversation just now.
CHANGED_ERRORS = (branches.MessageNotShownError, lifecycle.SessionNotFoundError)


def own_message(user: User, message_id: int) -> Message:
    """Return a message that the person may see, with its session and turn. Raise Http404 when there is none."""
    return shown_message(user, message_id).message


def shown_message(user: User, message_id: int) -> ShownMessage:
    """Return `own_message` with what is hidden of it. Raise Http404."""
    rows = Message.objects.visible_to(user).select_related("session__agent", "session__owner", "turn__prompt", "author")
    found = read_with_authors(rows.said().filter(pk=message_id))
    if not found:
        raise Http404
    return found[0]


def editable_message(user: User, message_id: int) -> Message:
    """Return a message that the person has written and may write anew. Raise Http404 when there is none."""
    message = own_message(user, message_id)
    is_mine = branches.is_author(user, message) and message.role == Message.Role.USER
    if not is_mine or not ChatSession.objects.continued_by(user).filter(pk=message.session_id).exists():
        raise Http404
    return message


def back(request: SignedInRequest, message: Message, refusal: Reason | None = None) -> HttpResponse:
    """Redirect to the conversation, with a toast about what was refused."""
    if refusal:
        toasts.keep(request, Toast(refusal, bad=True))
    return redirect(message.session)


@require_GET
def source(request: SignedInRequest, message_id: int, mark: str) -> HttpResponse:
    """Redirect to what an answer cites by `mark`: the exact line, moment or page. Raise Http404 for what the person may
    not see, or what is not there any more."""
    shown = shown_message(request.user, message_id)
    message = shown.message
    is_cited = mark in message.meta.get(SOURCES_KEY, {}) and not shown.hides_memory
    address = extensions.memory().source_address(request.user, message, mark) if is_cited else ""
    if not address:
        raise Http404
    return redirect(address)


@require_GET
def said(request: SignedInRequest, message_id: int) -> HttpResponse:
    """Send what the model's server said about an answer of an administrator that has failed, as text."""
    shown = shown_message(request.user, message_id)
    if not request.user.is_staff or shown.hides_memory or Message.SERVER_SAID_KEY not in shown.message.meta:
        raise Http404
    return render(request, "chat/_said.html", {"words": shown.message.meta[Message.SERVER_SAID_KEY]})


@require_GET
def details(request: SignedInRequest, message_id: int) -> HttpResponse:
    """Show who wrote the message, when, its cost and its context, in a dialog or on a page."""
    shown = shown_message(request.user, message_id)
    message = shown.message
    template = "chat/_details.html" if request.htmx else "chat/details.html"
    requests = message.turn.messages.filter(usage__isnull=False).order_by("seq") if message.turn else []
    misses = [reason for each in requests if (reason := reason_of_miss(each))]
    context = {"details": details_of(shown), "message": message, "misses": misses}
    return render(request, template, context | {"model": model_choice.label_of(message.model)})


@require_GET
def raw(request: SignedInRequest, message_id: int) -> HttpResponse:
    """Send the Markdown of a message; of an answer in several messages, all of it up to this one."""
    message = own_message(request.user, message_id)
    texts = [message.text]
    if message.role == Message.Role.ASSISTANT:
        shown = message.session.messages.shown().filter(seq__lt=message.seq).said()
        for role, text in shown.order_by("-seq").values_list("role", "text").iterator(chunk_size=50):
            if role == Message.Role.USER:
                break
            texts.insert(0, text)
    text = "\n\n".join(text for text in texts if text.strip())
    response = HttpResponse(text, content_type="text/plain; charset=utf-8")
    response["X-Content-Type-Options"] = "nosniff"
    return response


@require_POST
def rate(request: SignedInRequest, message_id: int) -> HttpResponse:
    """Rate an answer (`value`: good, bad, or nothing to take it back), or store the `reason` of a rating.

    A bad answer is followed by a question for the reason: in a dialog for a script, else on a page.
    """
    message = own_message(request.user, message_id)
    # What members of a space think of an answer is not kept.
    if message.role != Message.Role.ASSISTANT or message.is_running or message.session.is_shared:
        raise Http404
    value, done = request.POST.get("value", ""), HttpResponse(status=204) if request.htmx else back(request, message)
    if "reason" in request.POST:
        ratings.give_reason(message, request.POST["reason"])
        return done
    if value not in ("", "good", "bad"):
        return HttpResponseBadRequest()
    if not value:
        ratings.take_back(message)
        return done
    ratings.rate(message, value == "good")
    if value == "good":
        return done
    template = "chat/_rating.html" if request.htmx else "chat/rating.html"
    return render(request, template, {"message": message, "most": Rating.REASON_MAX_CHARS})


@require_http_methods(["GET", "POST"])
async def edit(request: SignedInRequest, message_id: int) -> HttpResponseBase:
    """Show a form with the text (GET), or make a new version of the message as the frame `edit` does (POST)."""
    user = await request.auser()
    message = await in_database(editable_message, user, message_id)
    if request.method == "GET":
        return await in_database(edit_page, request, message, message.text, "", 200)
    text = request.POST.get("text", "")
    try:
        fields = {"client_id": request.POST.get("client_id"), "message": str(message.pk), "text": text}
        fields["pasted"] = request.POST.get("pasted")
        await handle(user, frame_of(EditFrame, **fields))
    except FrameError as error:
        raise SuspiciousOperation(str(error)) from None
    except InvalidTextError as refusal:
        return await in_database(edit_page, request, message, text, refusal.sentence, 422)
    except (
        transcript.SessionBusyError,
        lifecycle.ReadOnlySessionError,
        transcript.ClientIdConflictError,
        branches.MessageNotShownError,
    ) as refusal:
        return await in_database(edit_page, request, message, text, refusal.sentence, 409)
    except NOT_NOW_ERRORS as refusal:
        return await in_database(edit_page, request, message, text, refusal.sentence, 429)
    except lifecycle.SessionNotFoundError:
        raise Http404 from None
    return redirect("conversation", session_id=message.session_id)


def edit_page(request: SignedInRequest, message: Message, text: str, refusal: str, status: int) -> HttpResponse:
    context = {"message": message, "text": text, "refusal": refusal, "client_id": uuid.uuid4()}
    return render(request, "chat/edit.html", context, status=status)


@require_POST
def show(request: SignedInRequest, message_id: int) -> HttpResponse:
    """Show the branch through this message."""
    message = own_message(request.user, message_id)
    try:
        branches.show(request.user, message.pk)
    except transcript.SessionBusyError:
        return back(request, message, BUSY)
    except lifecycle.ReadOnlySessionError:
        return back(request, message, Reason("conversation.read_only"))
    except CHANGED_ERRORS:
        raise Http404 from None
    return back(request, message)


@require_POST
async def again(request: SignedInRequest, message_id: int, kind: str) -> HttpResponseBase:
    """Begin another attempt at an answer (`kind` is of Turn.Kind)."""
    user = await request.auser()
    message = await in_database(own_message, user, message_id)
    refusal: Reason | None = None
    try:
        await handle(user, frame_of(RetryFrame, type=kind, message=str(message.pk)))
    except transcript.SessionBusyError:
        refusal = BUSY
    except lifecycle.ReadOnlySessionError:
        refusal = Reason("conversation.read_only")
    except CHANGED_ERRORS:
        raise Http404 from None
    except retry.NothingToRepeatError:
        refusal = Reason("conversation.not_last")
    except NOT_NOW_ERRORS as error:
        refusal = verbatim(error.sentence)
    return await in_database(back, request, message, refusal)


@require_POST
def fork(request: SignedInRequest, message_id: int) -> HttpResponse:
    """Fork the conversation at this message, and redirect to the fork."""
    message = own_message(request.user, message_id)
    try:
        return redirect(forking.fork(request.user, message.pk))
    except transcript.SessionBusyError:
        return back(request, message, BUSY)
    except CHANGED_ERRORS:
        raise Http404 from None
