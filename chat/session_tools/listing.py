"""The tool sessions_list: the model's list of the person's other conversations."""

import datetime as dt
from functools import reduce
from operator import and_
from typing import Any

from django.db.models import Exists, OuterRef, Q

from chat import extensions
from chat.extensions import ToolCall, ToolResult
from chat.library import search
from chat.models import ChatSession, ChatSessionQuerySet, Turn
from chat.session_tools.limits import LISTED_MAX_SESSIONS
from chat.session_tools.visible import visible_sessions
from oneclaw.models import User, clock
from oneclaw.reasons import Reason
from oneclaw.words import contains, pieces_of

DEFAULT_COUNT = 20
KINDS = ("conversation", "sub", "all")

SCHEMA = {
    "type": "object",
    "properties": {
        "limit": {"type": "integer", "minimum": 1, "maximum": LISTED_MAX_SESSIONS, "description": "Default: 20."},
        "kind": {"type": "string", "enum": KINDS, "description": "Conversations (default), sub-sessions, or all."},
        "active_minutes": {"type": "integer", "minimum": 1, "description": "Only those active in so many minutes."},
        "words": {"type": "string", "maxLength": 200, "description": "Only those with all these words."},
    },
    "additionalProperties": False,
}


def sessions_list(call: ToolCall) -> ToolResult:
    """Return the newest conversations of the person that the model may see, by the filters of `call`."""
    found = visible_sessions(call.session).select_related("agent").order_by("-active_at", "-id")
    kind = call.input.get("kind", "conversation")
    if kind != "all":
        found = found.filter(kind=ChatSession.Kind.SUB_SESSION if kind == "sub" else ChatSession.Kind.CONVERSATION)
    if minutes := call.input.get("active_minutes"):
        found = found.filter(active_at__gte=clock.database_now() - dt.timedelta(minutes=minutes))
    if pieces := pieces_of(call.input.get("words", "")):
        found = with_words(found, call.session, pieces)
    running = Turn.objects.running().filter(session=OuterRef("pk"))
    listed = found.annotate(is_running=Exists(running))[: call.input.get("limit", DEFAULT_COUNT)]
    clean = extensions.memory().cleaner(call.session)
    rows = [{**described(each, call.user, clean(each.name)), "is_answering": each.is_running} for each in listed]
    summary = Reason("sessions.listed", {"number": len(rows)})
    return ToolResult({"sessions": rows}, summary, [row["title"] for row in rows])


def with_words(found: ChatSessionQuerySet, session: ChatSession, pieces: list[str]) -> ChatSessionQuerySet:
    """Return those of `found` whose title has all `pieces`, or that have a readable message with all of them."""
    titled = reduce(and_, (contains("title", piece) for piece in pieces), Q())
    messages = search.with_words(session.owner, pieces, search.MAX_CANDIDATES)
    saying = extensions.memory().readable_messages(session, messages).values("session")  # type: ignore[arg-type]
    return found.filter(titled | Q(pk__in=saying))


def described(session: ChatSession, user: User, title: str) -> dict[str, Any]:
    """Return what the model is sent about a conversation with this `title`."""
    return {
        "id": str(session.pk),
        "title": title,
        "kind": "sub" if session.kind == ChatSession.Kind.SUB_SESSION else "conversation",
        "agent": session.agent.name,
        "messages": session.last_seq,
        "last_active": f"{user.local(session.active_at):%Y-%m-%d %H:%M}",
    }
