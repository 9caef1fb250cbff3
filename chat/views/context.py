"""The token meter, and the pages that show what the model is sent: fetch, call one thing, render."""

import json
import uuid
from typing import Any

from django.http import Http404, HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_GET

from chat.context.inspection import InspectedRequest, body_of, next_breakdown, next_request, request_of
from chat.context.meter import Breakdown, meter_of
from chat.context.tokens import ContextPart, part_of_section
from chat.conversations import model_choice
from chat.models import ChatSession, Message
from chat.rendering.shown import ShownMessage
from chat.views import toasts
from chat.views.messages import shown_message
from chat.views.own import own_session
from chat.views.rounds import listed_rounds, room_form
from oneclaw.llm import Block
from oneclaw.people.requests import SignedInRequest

PART_NAMES = {
    ContextPart.INSTRUCTIONS: _("Instructions"),
    ContextPart.MEMORY: _("Memory"),
    ContextPart.TOOLS: _("Tools"),
    ContextPart.FILES: _("Files"),
    ContextPart.RESULTS: _("Tool results"),
    ContextPart.CONVERSATION: _("Conversation"),
    ContextPart.SUMMARY: _("Summary"),
}
ROLE_NAMES = {
    Message.Role.USER: _("Your message"),
    Message.Role.ASSISTANT: _("Answer"),
    Message.Role.TOOL: _("Tool results"),
    Message.Role.NOTICE: _("Note from the server"),
}


@require_GET
def meter(request: SignedInRequest, session_id: uuid.UUID) -> HttpResponse:
    """Show the ring beneath the message field, as it is after the newest answer."""
    session = own_session(request.user, session_id, "owner", "head")
    return render(request, "chat/_meter.html", {"meter": meter_of(session), "session_id": session.pk})


@require_GET
def context(request: SignedInRequest, session_id: uuid.UUID) -> HttpResponse:
    """Show what takes the room, in a dialog, or on a page with the whole request that would be sent now."""
    session = own_session(request.user, session_id, "owner", "head")
    if request.htmx:
        shown = shown_breakdown(next_breakdown(session)) | room_form(session) | reads(session)
        return render(request, "chat/_context.html", {"session": session, **shown})
    inspected, breakdown = next_request(session)
    answers = session.messages.shown().finished().filter(role=Message.Role.ASSISTANT, usage__has_key="input_tokens")
    details = {"session": session, "answers": answers.only("seq", "created_at", "usage", "text")}
    details |= room_form(session) | reads(session) | {"rounds": listed_rounds(session), "toast": toasts.take(request)}
    return render(request, "chat/context.html", {**details, **shown_breakdown(breakdown), **shown_request(inspected)})


@require_GET
def context_json(request: SignedInRequest, session_id: uuid.UUID) -> HttpResponse:
    """Send the request that would be sent now as JSON."""
    session = own_session(request.user, session_id, "owner", "head")
    return as_json(session, next_request(session)[0])


@require_GET
def message_context(request: SignedInRequest, message_id: int) -> HttpResponse:
    """Show the request that an answer was made by; for a message that is no answer, that of the conversation now."""
    shown = shown_message(request.user, message_id)
    answer = shown.message
    if answer.role != Message.Role.ASSISTANT:
        return redirect("context", session_id=answer.session_id)
    refuse_earlier(shown)
    inspected = request_of(answer)
    sent = shown_request(inspected) if inspected else {}
    return render(request, "chat/message_context.html", {"session": answer.session, "message": answer, **sent})


@require_GET
def message_context_json(request: SignedInRequest, message_id: int) -> HttpResponse:
    """Send the request that an answer was made by as JSON."""
    shown = shown_message(request.user, message_id)
    answer = shown.message
    if answer.role != Message.Role.ASSISTANT:
        return redirect("context_json", session_id=answer.session_id)
    refuse_earlier(shown)
    inspected = request_of(answer)
    if inspected is None:
        raise Http404
    return as_json(answer.session, inspected)


def refuse_earlier(answer: ShownMessage) -> None:
    """Raise Http404 for an answer from before its conversation was shared: its request held what is its owner's."""
    if answer.hides_memory:
        raise Http404


def shown_breakdown(breakdown: Breakdown) -> dict[str, Any]:
    """Return what chat/_room.html shows."""
    tenths = breakdown.cached_tenths
    cached_percent = None if tenths is None else tenths * 10
    bars = [(PART_NAMES[part], count, percent) for part, count, percent in breakdown.bars()]
    return {"meter": breakdown.meter, "bars": bars, "cached_percent": cached_percent}


def reads(session: ChatSession) -> dict[str, str]:
    """Return which memory the conversation reads, as chat/_room.html shows it."""
    return {"reads": model_choice.memory_label(session)}


def shown_request(inspected: InspectedRequest) -> dict[str, Any]:
    """Return what chat/_request.html shows."""
    return {
        "inspected": inspected,
        "sections": [(PART_NAMES[part_of_section(name)], text, count) for name, text, count in inspected.sections],
        "tools_tokens": sum(count for _, _, count in inspected.tools),
        "tools": [(name, pretty(tool), count) for name, tool, count in inspected.tools],
        "replacement": [(*shown_block(block), count) for block, count in inspected.replacement],
        "messages_sent": [
            (ROLE_NAMES[Message.Role(each.row.role)], each, [shown_block(block) for block in each.blocks])
            for each in inspected.messages
        ],
    }


def shown_block(block: Block) -> tuple[str, str]:
    """Return the heading of a block, "" for plain text, and its text."""
    match block["type"]:
        case "text":
            return "", block["text"]
        case "compaction":
            return "", block.get("content") or ""
        case "thinking" | "redacted_thinking":
            return gettext("Thinking"), block.get("thinking", "")
        case "tool_use":
            return block["name"], pretty(block["input"])
        case "tool_result":
            content = block.get("content") or ""
            return gettext("Result"), content if isinstance(content, str) else pretty(content)
        case "image" | "document":
            return block["source"]["media_type"], block.get("title", "")
        case kind:
            return kind, pretty(block)


def pretty(value: object) -> str:
    """Return a JSON value as readable text."""
    return json.dumps(value, ensure_ascii=False, indent=2)


def as_json(session: ChatSession, inspected: InspectedRequest) -> JsonResponse:
    """Return the body of the request, in the API's form."""
    response = JsonResponse(body_of(session, inspected), json_dumps_params={"ensure_ascii": False, "indent": 2})
    response["X-Content-Type-Options"] = "nosniff"
    return response
