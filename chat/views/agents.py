"""The pages of a person's own agents."""

from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_http_methods

from chat import extensions
from chat.conversations import agents, model_choice
from chat.models import Agent, DmScope
from oneclaw.people.requests import SignedInRequest
from oneclaw.text import InvalidTextError


@require_http_methods(["GET", "POST"])
def agent_list(request: SignedInRequest) -> HttpResponse:
    """Show the person's own agents, the server's, and the tools that they may turn on for all their conversations; POST
    saves which of these are on."""
    if request.method == "POST":
        agents.turn_on(request.user, request.POST.getlist("tools"))
        return redirect("agents")
    servers = Agent.objects.visible_to(request.user).filter(owner=None)
    on = request.user.tools_on or ()
    context = {
        "own": Agent.objects.own_of(request.user),
        "servers": servers,
        "tools": [(name, label, name in on) for name, label in extensions.optional_tools().items()],
    }
    return render(request, "chat/agents.html", context)


@require_http_methods(["GET", "POST"])
def new_agent(request: SignedInRequest) -> HttpResponse:
    return edited(request, None)


@require_http_methods(["GET", "POST"])
def edit_agent(request: SignedInRequest, slug: str) -> HttpResponse:
    return edited(request, own_agent(request, slug))


@require_http_methods(["GET", "POST"])
def delete_agent(request: SignedInRequest, slug: str) -> HttpResponse:
    """Ask for confirmation (GET), or delete the agent (POST)."""
    agent = own_agent(request, slug)
    if request.method == "POST":
        agents.delete(agent)
        return redirect("agents")
    return render(request, "chat/delete_agent.html", {"agent": agent, "count": agent.sessions.count()})


def edited(request: SignedInRequest, agent: Agent | None) -> HttpResponse:
    """Show the form of `agent`, or of a new one for None; POST saves it."""
    labels, refusal = extensions.tool_labels(), ""
    shown = agent or Agent()
    offered = model_choice.models_for(request.user.pk)
    if request.method == "POST":
        form = request.POST
        on = form.getlist("tools")
        try:
            fields = (form.get("name"), form.get("instructions"), form.get("model"), on, form.get("memory"))
            draft = agents.checked_draft(*fields, form.get("effort"), form.get("dm_scope"), models=offered)
        except InvalidTextError as error:
            refusal = error.sentence
            # As it was typed, for the form alone.
            shown.name, shown.instructions = form.get("name", ""), form.get("instructions", "")
            shown.model, shown.effort = form.get("model", ""), form.get("effort", "")
            shown.dm_scope = form.get("dm_scope", "")
            shown.tools_off, shown.tools_on = [name for name in labels if name not in on], on
            if agent is None:
                shown.own_memory = form.get("memory") == "own"
        else:
            agents.update(agent, draft) if agent else agents.create(request.user, draft)
            return redirect("agents")
    context = {
        "agent": shown,
        "is_new": agent is None,
        "refusal": refusal,
        "models": model_choice.labelled(offered).items(),
        "efforts": model_choice.offered_efforts(offered, shown.effort),
        "scopes": [(value or "", label) for value, label in DmScope.choices],
        "tools": [(name, label, agents.is_on(shown, name)) for name, label in labels.items()],
    }
    return render(request, "chat/edit_agent.html", context, status=422 if refusal else 200)


def own_agent(request: SignedInRequest, slug: str) -> Agent:
    """Return the person's own agent; raise Http404 for another person's or the server's."""
    return get_object_or_404(Agent.objects.own_of(request.user), slug=slug)
