"""The pages on which owners add, change, try and remove further model servers."""

from django.contrib import messages
from django.contrib.auth.decorators import permission_required
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.formats import number_format
from django.utils.translation import gettext as _
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods, require_POST

from oneclaw import llm
from oneclaw.llm.upstreams.servers import upstream_of
from oneclaw.llm.upstreams.trial import try_server
from oneclaw.models import Group, ModelRule, ModelServer, Spend
from oneclaw.people.requests import SignedInRequest
from oneclaw.people.sign_in.fresh import fresh_form_required, fresh_sign_in_required
from oneclaw.spend.calls import Payer
from oneclaw.team.model_rules import chosen_groups, trouble_of
from oneclaw.team.model_servers import saving
from oneclaw.team.model_servers.form import ServerForm
from oneclaw.text import UserFacingError

changes_servers = permission_required("oneclaw.change_modelserver", raise_exception=True)


@sensitive_post_parameters("key")
@require_http_methods(["GET", "POST"])
@changes_servers
@fresh_form_required
def new_server(request: SignedInRequest) -> HttpResponse:
    """Show the form of a new server (GET), or add it (POST)."""
    return _form_page(request, None)


@sensitive_post_parameters("key")
@require_http_methods(["GET", "POST"])
@changes_servers
@fresh_form_required
def server(request: SignedInRequest, server_id: int) -> HttpResponse:
    """Show a server in its form (GET), or change it (POST)."""
    return _form_page(request, get_object_or_404(ModelServer, pk=server_id))


@require_POST
@changes_servers
@fresh_sign_in_required
def remove_server(request: SignedInRequest, server_id: int) -> HttpResponse:
    """Remove a server. Answers that it is writing go on to their end."""
    saving.remove(request.user, get_object_or_404(ModelServer, pk=server_id))
    messages.success(request, _("The server was removed. Everybody has it within seconds."))
    return redirect("team_models")


@require_POST
@changes_servers
def try_out(request: SignedInRequest, server_id: int) -> HttpResponse:
    """Send one tiny request to a server, and say in a sentence what came of it."""
    row = get_object_or_404(ModelServer, pk=server_id)
    upstream = upstream_of(row)
    wanted = request.POST.get("model", "")
    model = wanted if wanted in upstream.models else upstream.models[0]
    try:
        trial = try_server(upstream, model, Payer(Spend.Purpose.TRIAL, request.user.pk))
    except llm.ModelRequestError as failure:
        text = _("%(model)s on %(server)s did not answer: %(sentence)s")
        messages.error(request, text % {"model": model, "server": row.name, "sentence": failure.sentence})
    else:
        text = _("%(server)s has answered as %(model)s after %(seconds)s seconds.")
        seconds = number_format(trial.seconds, 1)
        messages.success(request, text % {"server": row.name, "model": trial.model[:100], "seconds": seconds})
    return redirect("model_server", row.pk)


def _form_page(request: SignedInRequest, row: ModelServer | None) -> HttpResponse:
    form = ServerForm(request.POST or None, row=row)
    rule = ModelRule.objects.filter(server=row.name, model="").first() if row else None
    groups = list(rule.groups.all()) if rule else None
    if request.method == "POST":
        groups = chosen_groups(request.POST)
        if form.is_valid():
            try:
                if row is None:
                    row = saving.add(request.user, form.cleaned_data, groups)
                else:
                    saving.change(request.user, row.pk, form.cleaned_data, groups)
            except UserFacingError as refused:
                form.add_error(None, str(refused))
            else:
                messages.success(request, _("Saved. Everybody has it within seconds."))
                return redirect("model_server", row.pk)
    context = {
        "form": form,
        "row": row,
        "trouble": trouble_of(row) if row else "",
        "is_limited": groups is not None,
        "chosen": groups or [],
        "groups": Group.objects.all(),
    }
    return render(request, "team/server.html", context, status=422 if form.errors else 200)
