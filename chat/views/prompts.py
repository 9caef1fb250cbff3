"""The page of a person's own prompts, and the list of commands for the composer."""

from typing import Any

from django.contrib import messages
from django.http import HttpResponse, JsonResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from chat import extensions
from chat.library import saved_prompts
from chat.library.saved_prompts import split_at_variables, variables
from chat.models import ChatSession, SavedPrompt, default_agent
from chat.turns import commands
from chat.views import pages
from oneclaw.audit.holds import HeldError
from oneclaw.people.requests import SignedInRequest
from oneclaw.text import InvalidTextError


@require_http_methods(["GET", "POST"])
def prompt_list(request: SignedInRequest) -> HttpResponse:
    """Show every prompt of the person; POST adds one."""
    refusal = ""
    if request.method == "POST":
        try:
            saved_prompts.save(request.user, request.POST.get("name"), request.POST.get("text"))
        except InvalidTextError as error:
            refusal = error.sentence
        else:
            return redirect("prompts")
    own = [(prompt, variables(prompt.text)) for prompt in request.user.saved_prompts.all()]
    context = {"prompts": own, "refusal": refusal, "given": request.POST if refusal else {}}
    return render(request, "chat/prompts.html", context, status=422 if refusal else 200)


@require_http_methods(["GET", "POST"])
def edit_prompt(request: SignedInRequest, prompt_id: int) -> HttpResponse:
    prompt = get_object_or_404(request.user.saved_prompts, pk=prompt_id)
    refusal, fields = "", {"name": prompt.name, "text": prompt.text}
    if request.method == "POST":
        fields = {"name": request.POST.get("name", ""), "text": request.POST.get("text", "")}
        try:
            saved_prompts.save(request.user, fields["name"], fields["text"], prompt)
        except InvalidTextError as error:
            refusal = error.sentence
        else:
            return redirect("prompts")
    context = {"prompt": prompt, "refusal": refusal, "given": fields}
    return render(request, "chat/edit_prompt.html", context, status=422 if refusal else 200)


@require_POST
def delete_prompt(request: SignedInRequest, prompt_id: int) -> HttpResponse:
    """Delete a prompt of the person, unless a legal hold keeps it."""
    prompt = get_object_or_404(request.user.saved_prompts, pk=prompt_id)
    try:
        saved_prompts.delete(prompt)
    except HeldError as refusal:
        messages.error(request, refusal.sentence)
    return redirect("prompts")


@require_GET
def command_list(request: SignedInRequest) -> JsonResponse:
    """Send what `/` and `$` offer in the composer of the conversation `current` (a new one when it is not there).

    Each has its `name`, what it is `about`, and a `kind`: send (leaves as it is), write (begins a message), or insert
    (a prompt; every second one of its `pieces` is a variable). `mentions` are what a message may name, such as $skill.
    """
    session = pages.session_shown(request, request.GET.get("current", ""))
    session = session or ChatSession(owner=request.user, agent=default_agent())
    says = {
        "/new": _("End this conversation and start a new one"),
        "/reset": _("The same as /new"),
        "/end": _("End this conversation"),
        "/compact": _("Summarise older messages for the model; add what to focus on"),
        "/undo-compact": _("Undo the newest summary"),
        "/context": _("Show the context usage"),
    }
    names = (*commands.COMMANDS, *commands.CONTEXT_COMMANDS)
    offered: list[dict[str, Any]] = [
        {"name": name, "about": says[name], "kind": "write" if name == "/compact" else "send"} for name in names
    ]
    for name, command in commands.tool_commands().items():
        if commands.is_offered(command, session):
            offered.append({"name": name, "about": str(command.label), "kind": "write"})
    for prompt in SavedPrompt.objects.filter(owner=request.user):
        about = " ".join(prompt.text.split())
        about = about if len(about) <= 80 else about[:79] + "…"
        offered.append(
            {"name": f"/{prompt.name}", "about": about, "kind": "insert", "pieces": split_at_variables(prompt.text)}
        )
    known = extensions.memory_for(session).mentions(session)
    mentions = [{"name": each.name, "about": each.about} for each in known]
    return JsonResponse({"commands": offered, "mentions": mentions})
