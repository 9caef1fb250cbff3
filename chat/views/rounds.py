"""The summaries that the model reads in place of older messages: ask for one, read it, correct it, undo it."""

import uuid
from typing import Any

from django.http import Http404, HttpResponse
from django.middleware.csrf import get_token
from django.shortcuts import get_object_or_404, redirect, render
from django.template.loader import render_to_string
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_GET, require_http_methods, require_POST
from django_htmx.http import reswap, trigger_client_event

from chat.compaction import changes, planning
from chat.context.rounds import rounds_in_view
from chat.models import ChatSession, ContextRound
from chat.rendering.round_markers import markers_html
from chat.rendering.rounds import marker_html, sizes, summary_of
from chat.turns import commands
from chat.views import toasts
from chat.views.own import own_session, written_session
from chat.views.toasts import Toast
from oneclaw.models import User
from oneclaw.people.requests import SignedInRequest
from oneclaw.reasons import Reason
from oneclaw.text import InvalidTextError

State, Why, Maker = ContextRound.State, ContextRound.Reason, ContextRound.Maker
STATE_NAMES = {
    State.MAKING: _("is being written"),
    State.READY: _("ready"),
    State.USED: _("used"),
    State.UNDONE: _("undone"),
    State.SUPERSEDED: _("replaced by a later one"),
    State.STOPPED: _("stopped"),
    State.FAILED: _("failed"),
}
REASON_NAMES = {
    Why.THRESHOLD: _("the conversation was filling the model's window"),
    Why.MESSAGES: _("there were many messages"),
    Why.OVERFLOW: _("the conversation no longer fitted"),
    Why.COMMAND: _("you asked for it"),
    Why.PAUSE: _("after a pause"),
}
MAKER_NAMES = {
    Maker.API: _("written by the model's server"),
    Maker.MODEL: _("written by the fast model"),
    Maker.EXTRACT: _("summarised without the model"),
    Maker.PERSON: _("changed by you"),
}
# The rounds that the page lists, the newest first.
LISTED_MAX_ROUNDS = 200
# The event with which the parts of a page that show rounds are fetched again.
CHANGED_EVENT = "rounds-changed"


@require_GET
def markers(request: SignedInRequest, session_id: uuid.UUID) -> HttpResponse:
    """Show the markers of the conversation, which a script puts between its messages."""
    return HttpResponse(markers_html(own_session(request.user, session_id).pk, get_token(request)))


@require_GET
def summary(request: SignedInRequest, session_id: uuid.UUID, number: int) -> HttpResponse:
    """Show the summary and what is kept word for word, in a dialog or on a page."""
    found = own_round(request.user, session_id, number)
    if not found.summary:
        raise Http404
    template = "chat/_summary.html" if request.htmx else "chat/summary.html"
    return render(request, template, {"session": found.session, **summary_of(found)})


@require_http_methods(["GET", "POST"])
def edit(request: SignedInRequest, session_id: uuid.UUID, number: int) -> HttpResponse:
    """Show the form, on a page or in place of the marker (GET), or replace the summary by the person's text (POST)."""
    found = written_round(request.user, session_id, number)
    if request.method == "GET":
        if not found.may_be_edited:
            raise Http404
        return edit_form(request, found, found.summary)
    text = request.POST.get("summary", "")
    try:
        changes.edit(request.user, session_id, number, text)
    except InvalidTextError as refusal:
        return edit_form(request, found, text, refusal.sentence)
    except (changes.RoundNotFoundError, changes.NotASummaryError):
        raise Http404 from None
    if not request.htmx:
        return back(request, found.session, Reason("rounds.edited"))
    found.refresh_from_db()
    marker = marker_html(found, is_earlier=False, csrf_token=get_token(request))
    return reswap(changed(request, Reason("rounds.edited"), marker), "outerHTML")


def edit_form(request: SignedInRequest, found: ContextRound, text: str, refusal: str = "") -> HttpResponse:
    """Return the form. htmx shows no response with the status of an error."""
    context = {"session": found.session, "round": found, "text": text, "refusal": refusal}
    template = "chat/_edit_round.html" if request.htmx else "chat/edit_round.html"
    return render(request, template, context, status=422 if refusal and not request.htmx else 200)


@require_POST
def undo(request: SignedInRequest, session_id: uuid.UUID, number: int) -> HttpResponse:
    """Stop using the round, or stop it being made."""
    found = written_round(request.user, session_id, number)
    try:
        undone = changes.undo(request.user, session_id, number)
    except changes.RoundNotFoundError:
        raise Http404 from None
    return back(request, found.session, commands.reason_of_undo(undone))


@require_http_methods(["GET", "POST"])
def compact(request: SignedInRequest, session_id: uuid.UUID) -> HttpResponse:
    """Show the form with which a person asks for a summary (GET, for htmx), or ask for one (POST)."""
    session = written_session(request.user, session_id, "owner", "head")
    if request.method == "GET":
        if not request.htmx:
            return redirect("context", session_id=session.pk)
        return render(request, "chat/_make_room.html", {"session": session, **room_form(session)})
    focus, refusal = request.POST.get("focus", ""), ""
    try:
        said = commands.compact(session, focus)
    except InvalidTextError as error:
        said, refusal = Reason("rounds.focus_refused"), error.sentence
    if not request.htmx:
        return back(request, session, said)
    form = room_form(session)
    if not form["waiting"]:
        form |= {"refusal": refusal or str(said), "focus": focus}
    return render(request, "chat/_make_room.html", {"session": session, **form})


def room_form(session: ChatSession) -> dict[str, Any]:
    """Return what templates/chat/_make_room.html shows besides the session."""
    return {"waiting": planning.waiting_round(session)}


def listed_rounds(session: ChatSession) -> list[dict[str, Any]]:
    """Return what templates/chat/_rounds.html shows of the newest rounds of `session`, the newest first."""
    rounds = (
        session.context_rounds.for_readers(session)
        .order_by("-number")
        .defer("steps", "block", "text")[:LISTED_MAX_ROUNDS]
    )
    in_view = rounds_in_view(session).compact
    return [listed(each, is_earlier=is_earlier(each, in_view)) for each in rounds]


def is_earlier(round: ContextRound, in_view: ContextRound | None) -> bool:
    """Return whether the model reads the summary of a later round, `in_view`, in place of that of `round`."""
    is_used = round.state == State.USED and round.kind == ContextRound.Kind.COMPACT
    return is_used and in_view is not None and round.number < in_view.number


def listed(round: ContextRound, *, is_earlier: bool) -> dict[str, Any]:
    """Return what templates/chat/_rounds.html shows of one round. `is_earlier`: a later one is used in its place."""
    is_prune = round.kind == ContextRound.Kind.PRUNE
    return {
        "round": round,
        "kind": _("Older tool results are shortened") if is_prune else _("Summary"),
        "state": STATE_NAMES[State.SUPERSEDED if is_earlier else round.state],
        "reason": REASON_NAMES[Why(round.reason)],
        "maker": MAKER_NAMES[Maker(round.maker)] if round.maker else "",
        "may_be_edited": round.may_be_edited and not is_earlier,
        "may_be_undone": round.may_be_undone and not is_earlier,
        **sizes(round),
    }


def own_round(user: User, session_id: uuid.UUID, number: int) -> ContextRound:
    """Return the round of the conversation that the person may see. Raise Http404 when there is none."""
    return round_of(own_session(user, session_id, "owner", "head"), number)


def written_round(user: User, session_id: uuid.UUID, number: int) -> ContextRound:
    """Return the round of the conversation that the person may write in. Raise Http404 when there is none."""
    return round_of(written_session(user, session_id, "owner", "head"), number)


def round_of(session: ChatSession, number: int) -> ContextRound:
    """Return a round of `session`; of a shared one none from before it was shared. Raise Http404."""
    rounds = session.context_rounds.for_readers(session).select_related("through", "session")
    found: ContextRound = get_object_or_404(rounds, number=number)
    return found


def back(request: SignedInRequest, session: ChatSession, said: Reason) -> HttpResponse:
    """Return the toast `said` to htmx; otherwise redirect to what the person looked at, with the toast."""
    if request.htmx:
        return changed(request, said)
    toasts.keep(request, Toast(said))
    return redirect("context", session_id=session.pk) if request.POST.get("next") == "context" else redirect(session)


def changed(request: SignedInRequest, said: Reason, html: str = "") -> HttpResponse:
    """Return `html` with the toast `said` to htmx, which then fetches everything that shows rounds again."""
    toast = render_to_string("chat/_toast.html", {"toast": Toast(said), "swap": True}, request)
    return trigger_client_event(HttpResponse(html + toast), CHANGED_EVENT)
