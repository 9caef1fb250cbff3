"""The pages of the chat: fetch, call one thing, render."""

import functools
import hashlib
import uuid
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

from django.conf import settings
from django.contrib.auth.decorators import login_required
from django.core.exceptions import SuspiciousOperation
from django.core.files.uploadedfile import UploadedFile
from django.db.models import Exists, OuterRef
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase, QueryDict
from django.middleware.csrf import get_token
from django.shortcuts import redirect, render
from django.templatetags.static import static
from django.utils.html import strip_tags
from django.utils.safestring import SafeString, mark_safe
from django.views.decorators.http import require_GET, require_POST

from chat import extensions
from chat.attachments import store
from chat.attachments.accept import accepted
from chat.attachments.examine import FileRefusedError
from chat.context.counted import NEWEST_COUNTED, counted_from
from chat.context.meter import Meter, meter_after, meter_of
from chat.conversations import lifecycle, model_choice, presence, temporary, transcript
from chat.conversations.message_pages import LAST_NUMBER, messages_from, newest_messages, page_messages
from chat.conversations.model_choice import NO_CHOICE, Choice
from chat.conversations.shared import stopping
from chat.library import organise, sidebar, spaces
from chat.library.session_rows import shown_sessions
from chat.live import replay
from chat.live.errors import FrameError
from chat.live.frames import SendFrame, frame_of
from chat.live.handle import Commanded, Ended, handle
from chat.models import Agent, ChatSession, ContextRound, MemoryChoice, SubTask, default_agent, placed, position_of
from chat.rendering import incremental
from chat.rendering.round_markers import markers_html
from chat.turns.admission import NOT_NOW_ERRORS
from chat.views import toasts
from chat.views.attachments import kept_file, refuse_reader
from chat.views.own import found_session, is_closed_to, own_session, written_session
from chat.views.toasts import Toast
from oneclaw import llm
from oneclaw.config import release
from oneclaw.models import User
from oneclaw.people.requests import SignedInRequest
from oneclaw.reasons import Reason
from oneclaw.text import InvalidTextError
from oneclaw.threads import in_database, in_tool_thread


@dataclass(frozen=True)
class OpenConversation:
    """The conversation that a page shows, and what is known of it."""

    session: ChatSession
    # Whether a summary or shortened results were ever made for its model.
    has_rounds: bool
    meter: Meter | None


@login_required
@require_GET
def new_chat(request: SignedInRequest) -> HttpResponse:
    """Show a page for a new conversation, which has its id already and is stored with its first message.

    The address may name the agent and the mode.
    """
    temporary.leave(request.user)
    mode = request.GET.get("mode", "")
    begun = mode if mode in ChatSession.Mode.values else ChatSession.Mode.AGENT
    choice = Choice(agent=request.GET.get("agent"), space=number_in(request.GET, "space") or None)
    return page(request, uuid.uuid4(), None, mode=begun, choice=choice)


@login_required
@require_GET
def conversation(request: SignedInRequest, session_id: uuid.UUID) -> HttpResponse:
    mine = placed(ChatSession.objects.visible_to(request.user), request.user).select_related("agent", "space")
    has_rounds = Exists(ContextRound.objects.filter(session=OuterRef("pk")))
    read = mine.annotate(counted=NEWEST_COUNTED, has_rounds=has_rounds)
    session = read.filter(pk=session_id).first()
    if session is None:
        raise Http404
    if session.is_temporary and temporary.is_left(session):
        raise Http404
    if position_of(session).read_seq < session.last_seq:
        organise.mark_read(request.user, session.pk, session.last_seq)
    known = OpenConversation(session, session.has_rounds, meter_after(session, counted_from(session.counted)))
    return page(request, session_id, known)


def page(
    request: SignedInRequest,
    session_id: uuid.UUID,
    found: OpenConversation | None,
    *,
    status: int = 200,
    refusal: str = "",
    text: str = "",
    mode: str = ChatSession.Mode.AGENT,
    choice: Choice = NO_CHOICE,
) -> HttpResponse:
    """Return the whole page. `refusal` says why the message `text` of a page without a socket was refused; `mode` and
    `choice` are what was chosen for it."""
    session = found.session if found else None
    own_spaces = spaces.of_person(request.user)
    space_id = session.space_id if session else choice.space
    space = next((each for each in own_spaces if each.pk == space_id), None)
    before = sequence_number(request, "before") if "before" in request.GET else LAST_NUMBER
    memory = choice.memory or (session.memory if session else "")
    uses = model_choice.offered_uses(
        in_space=bool(session.space_id if session else space),
        is_shared=session is not None and session.is_shared,
        mode=session.mode if session else "",
    )
    context = {
        "session_id": session_id,
        "session": session,
        "messages_html": messages_html(request, found, before) if found else "",
        "meter": found.meter if found else None,
        "listing": shown_sessions(listing_for(request), session_id),
        "waiting": extensions.memory().waiting_for(request.user),
        "toast": toasts.take(request),
        "client_id": uuid.uuid4(),
        "longest": settings.MESSAGE_LENGTH,
        "file_kinds": settings.FILES.kinds,
        "accept": accepted(settings.FILES.kinds),
        "file_size": settings.FILES.max_bytes,
        "most_files": settings.FILES.message_max_files,
        "is_demo": llm.is_demo(),
        "introduction": extensions.memory().introduction(request.user, session_id, get_token(request)),
        "has_model": bool(settings.ANTHROPIC_API_KEY or settings.ANTHROPIC_BASE_URL or settings.DEMO_URL),
        "refusal": refusal,
        "text": text,
        "mode": session.mode if session else mode,
        "is_closed": session is not None and is_closed_to(request.user, session),
        "sub_task": sub_task_of(session),
        "spaces": own_spaces,
        "space": space,
        "uses": uses,
        # One that is not offered is kept, as from before the conversation was shared.
        "use": f"{session.mode if session else mode}:{memory or MemoryChoice.ALL}",
        **choices_for(request.user, session, choice),
    }
    return render(request, "chat/page.html", context, status=status)


def sub_task_of(session: ChatSession | None) -> SubTask | None:
    """Return the task of a sub-session, with the conversation that gave it; None for any other conversation."""
    if session is None or session.kind != ChatSession.Kind.SUB_SESSION:
        return None
    return SubTask.objects.filter(session=session, parent__deleted_at=None).select_related("parent").first()


def messages_html(request: SignedInRequest, found: OpenConversation, before: int) -> SafeString:
    """Return the newest messages before the sequence number `before`, and the markers among them."""
    return newest_messages(found.session.pk, get_token(request), before, has_markers=found.has_rounds)


def choices_for(user: User, session: ChatSession | None, choice: Choice) -> dict[str, Any]:
    """Return the agents, models and levels of effort that can be chosen; no agents for an existing conversation."""
    agents = [session.agent] if session else list(Agent.objects.visible_to(user))
    if not agents or not (session or agents[0].is_default):
        agents.insert(0, default_agent())
    agent = next((agent for agent in agents if agent.slug == choice.agent), agents[0])
    labels = model_choice.labelled(model_choice.models_for(user.pk))
    model = choice.model
    if model is None:
        # An agent with a model of its own begins with that.
        model = session.model if session else "" if agent.model else model_choice.last_model(user)
    effort = choice.effort if choice.effort is not None else session.effort if session else ""
    names = {each.pk: model_choice.model_of_agent(each, user.pk) for each in agents}
    default = names[agent.pk]
    return {
        "agents": [(each, names[each.pk], labels.get(names[each.pk], names[each.pk])) for each in agents],
        "agent": agent,
        "models": labels.items(),
        # The default is listed once, as such.
        "model": model if model in labels and model != default else "",
        "default_model": default,
        "agents_model": labels.get(default, default),
        "efforts": model_choice.offered_efforts({*labels, *names.values()}, effort),
        "effort": effort,
    }


@login_required
@require_GET
def session_list(request: SignedInRequest) -> HttpResponse:
    """Show the sidebar's list, and the title of the session that the page shows (`current`; pages without a
    conversation name none)."""
    return listed(request, request.GET.get("current", ""))


def listed(request: SignedInRequest, current: str, toast: Toast | None = None) -> HttpResponse:
    shown = session_shown(request, current)
    listing = shown_sessions(listing_for(request), shown.pk if shown else None)
    context = {"listing": listing, "current": shown, "toast": toast}
    fresh = {
        "refreshed": True,
        "of_conversation": bool(current),
        "spaces": spaces.of_person(request.user),
        "waiting": extensions.memory().waiting_for(request.user),
    }
    return render(request, "chat/_sessions.html", context | fresh)


def listing_for(request: SignedInRequest) -> sidebar.Listing:
    """Return the list as long as the page has it (`listed`); with `older` (no script) the longest list."""
    asked = request.POST if request.method == "POST" else request.GET
    most = sidebar.LIST_MAX_SESSIONS if "older" in request.GET else number_in(asked, "listed")
    return sidebar.listing(request.user, most=min(max(most, sidebar.PAGE_SESSIONS), sidebar.LIST_MAX_SESSIONS))


@login_required
@require_GET
def older_sessions(request: SignedInRequest) -> HttpResponse:
    """Show the part of the sidebar's list after the cursor `after`."""
    try:
        edge = sidebar.ListCursor.read(request.GET.get("after", ""))
    except ValueError:
        raise Http404 from None
    shown = session_shown(request, request.GET.get("current", ""))
    listing = shown_sessions(sidebar.older(request.user, edge), shown.pk if shown else None)
    return render(request, "chat/_older.html", {"listing": listing})


def session_shown(request: SignedInRequest, current: str) -> ChatSession | None:
    """Return the person's session that the page shows; None for a new one or an invalid id."""
    return found_session(request.user, current)


@login_required
@require_GET
def messages_after(request: SignedInRequest, session_id: uuid.UUID) -> HttpResponse:
    """Show messages as articles: the newest; those with a sequence number above `after`, for a page without a socket,
    and all markers of summaries; or those below `before`, one page of them, or all from `to` on.

    Status 205 when the message `after` is not shown any more, because it was tried again: the page then fetches all.
    With `open` the person looks at this conversation from now on, as by the frame `open`.
    """
    session = own_session(request.user, session_id)
    presence.arrive_unless_recent(request.user)
    if "open" in request.GET:
        lifecycle.open_session(request.user, session_id)
    messages, token, before = session.messages.shown(), get_token(request), LAST_NUMBER
    if "before" in request.GET:
        before = sequence_number(request, "before")
        if "to" in request.GET:
            messages = messages.filter(seq__lt=before)
            return HttpResponse(messages_from(messages, sequence_number(request, "to"), token))
    elif after := sequence_number(request, "after"):
        if replay.shows_hidden_message(session.owner_id, session.pk, after):
            return HttpResponse(status=HTTPStatus.RESET_CONTENT)
        # A page without a socket gets no hint about context rounds.
        return HttpResponse(page_messages(messages.filter(seq__gt=after), token) + markers_html(session.pk, token))
    return HttpResponse(newest_messages(session.pk, token, before))


def sequence_number(request: SignedInRequest, name: str) -> int:
    """Return a sequence number from the address; 0 when there is none. Raise Http404 when it is no number."""
    return number_in(request.GET, name)


def number_in(fields: QueryDict, name: str) -> int:
    """Return a number from an address or a form; 0 when it is absent. Raise Http404 when it is no number."""
    value = fields.get(name, "0")
    if not value.isascii() or not value.isdigit() or len(value) > 18:
        raise Http404
    return int(value)


@login_required
@require_POST
async def send(request: SignedInRequest, session_id: uuid.UUID) -> HttpResponseBase:
    """Accept a message from a page without a socket as the frame `send` does, with the same client_id."""
    user = await request.auser()
    text = request.POST.get("text", "")
    mode, memory = use_in(request)
    try:
        client_id = uuid.UUID(request.POST.get("client_id", ""))
    except ValueError:
        raise SuspiciousOperation("client_id is not a UUID") from None
    try:
        outcome = await handle(
            user,
            frame_of(
                SendFrame,
                client_id=client_id,
                session=session_id,
                text=text,
                pasted=request.POST.get("pasted"),
                files=await in_tool_thread(files_of, request, user, session_id, client_id),
                mode=mode or None,
                agent=request.POST.get("agent"),
                model=request.POST.get("model"),
                effort=request.POST.get("effort"),
                space=request.POST.get("space"),
                memory=memory or None,
            ),
        )
    except FrameError as error:
        raise SuspiciousOperation(str(error)) from None
    except lifecycle.SessionNotFoundError:
        raise Http404 from None
    except (InvalidTextError, FileRefusedError) as refusal:
        return await in_database(refused, request, session_id, 422, refusal.sentence, text)
    except NOT_NOW_ERRORS as refusal:
        return await in_database(refused, request, session_id, 429, refusal.sentence, text)
    except model_choice.NotOfferedError as refusal:
        return await in_database(refused, request, session_id, 409, refusal.sentence, text)
    except (
        transcript.SessionBusyError,
        lifecycle.ReadOnlySessionError,
        transcript.ClientIdConflictError,
        transcript.OtherModeError,
        store.FileMissingError,
    ) as refusal:
        return await in_database(refused, request, session_id, 409, refusal.sentence, text)
    if isinstance(outcome, Ended):
        return redirect("conversation", outcome.follower_id) if outcome.follower_id else redirect("chat")
    if isinstance(outcome, Commanded):
        return await in_database(after_command, request, outcome)
    return redirect("conversation", session_id=session_id)


def use_in(request: SignedInRequest) -> tuple[str, str]:
    """Return mode and memory of a form (MemoryUse.value in the field `use`); both are empty without the field."""
    mode, _, memory = request.POST.get("use", "").partition(":")
    return mode, memory


def after_command(request: SignedInRequest, outcome: Commanded) -> HttpResponse:
    """Redirect to what shows the effect of a command about what the model is sent, with a toast."""
    toasts.keep(request, Toast(outcome.reason))
    session = session_shown(request, str(outcome.session_id))
    if session is None:
        return redirect("chat")
    return redirect("context", session_id=session.pk) if outcome.command == "/context" else redirect(session)


def files_of(request: SignedInRequest, user: User, session_id: uuid.UUID, client_id: uuid.UUID) -> list[str]:
    """Keep the files of the form, each once however often it is sent, and return their ids. Raise Refused, and the
    errors of `refuse_reader`."""
    uploads = request.FILES.getlist("files")
    if uploads:
        refuse_reader(user, session_id)
    if len(uploads) > settings.FILES.message_max_files:
        raise store.too_many_error()
    kept = (
        kept_file(user, upload, uuid.uuid5(client_id, f"{user.pk}:{number}:{hashed(upload)}"))
        for number, upload in enumerate(uploads)
    )
    return [str(file.pk) for file in kept]


def hashed(upload: UploadedFile) -> str:
    digest = hashlib.sha256()
    for chunk in upload.chunks():
        digest.update(chunk)
    upload.seek(0)
    return digest.hexdigest()


def refused(request: SignedInRequest, session_id: uuid.UUID, status: int, refusal: str, text: str) -> HttpResponse:
    """Return the page with the message still in the composer, and why it was refused."""
    session = session_shown(request, str(session_id))
    mode, memory = use_in(request)
    choice = Choice(
        request.POST.get("agent") or None,
        request.POST.get("model"),
        request.POST.get("effort"),
        number_in(request.POST, "space") if request.POST.get("space") else None,
        memory or None,
    )
    found = OpenConversation(session, has_rounds=True, meter=meter_of(session)) if session else None
    return page(
        request,
        session_id,
        found,
        status=status,
        refusal=refusal,
        text=text,
        mode=mode or ChatSession.Mode.AGENT,
        choice=choice,
    )


@login_required
@require_POST
def end(request: SignedInRequest, session_id: uuid.UUID) -> HttpResponse:
    """End the conversation (`reason`: end or archive), and redirect to a new one."""
    reason = request.POST.get("reason", "end")
    if reason not in ("end", "archive"):
        raise SuspiciousOperation("reason is neither end nor archive")
    session = own_session(request.user, session_id)
    if session.is_shared:
        # The others go on with it.
        return redirect("chat")
    lifecycle.end(session, reason)
    toasts.keep(request, Toast(Reason(f"ended.{reason if reason == 'archive' else session.mode}")))
    return redirect("chat")


@login_required
@require_POST
def stop(request: SignedInRequest, session_id: uuid.UUID) -> HttpResponse:
    session = written_session(request.user, session_id)
    stopping.request_stop(request.user, session.pk, None)
    return redirect(session)


@login_required
@require_GET
def more(request: SignedInRequest) -> HttpResponse:
    """Show the links to what is used rarely, each with a sentence."""
    return render(request, "chat/more.html")


@login_required
@require_GET
def news(request: SignedInRequest) -> HttpResponse:
    """Show the version, and what changed in it and in earlier ones."""
    return render(request, "chat/news.html", {"version": release.version(), "releases": changes()})


# The beginning of a heading of the second level, in a rendered text.
RELEASE_HEADING = '<h3 data-level="2"'


@functools.cache
def changes() -> list[tuple[SafeString, list[SafeString]]]:
    """Return the releases of the changelog, the newest first: the name of each, and its blocks of HTML."""
    found: list[tuple[SafeString, list[SafeString]]] = []
    for block in incremental.blocks(release.changelog()):
        html = mark_safe(block)  # noqa: S308 - sanitised there
        if block.startswith(RELEASE_HEADING):
            found.append((mark_safe(strip_tags(block)), []))  # noqa: S308 - escaped there
        elif found:
            found[-1][1].append(html)
    return found


@require_GET
def icon(request: HttpRequest) -> HttpResponse:
    return redirect(static("icon.svg"))
