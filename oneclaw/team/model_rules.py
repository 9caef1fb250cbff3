"""The pages that say who may use which model: everybody, or the members of some groups."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from django.conf import settings
from django.contrib import messages
from django.contrib.auth.decorators import permission_required
from django.core.exceptions import ImproperlyConfigured
from django.db import transaction
from django.http import Http404, HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET, require_POST

from oneclaw.audit.record import record
from oneclaw.llm.upstreams import access
from oneclaw.llm.upstreams.routes import home_of
from oneclaw.llm.upstreams.servers import upstream_of, upstreams
from oneclaw.models import AuditKind, Group, ModelRule, ModelServer, User
from oneclaw.people.requests import SignedInRequest
from oneclaw.people.sign_in.fresh import fresh_sign_in_required
from oneclaw.spend.prices import price_of, prices_at
from oneclaw.text import StrOrPromise

changes_rules = permission_required("oneclaw.change_modelrule", raise_exception=True)


@dataclass(frozen=True)
class Ruled:
    """A server or a model that a rule may be about: one of `server` and `model` is empty."""

    server: str = ""
    model: str = ""
    label: str = ""
    # Where a model is asked for, "" for the first server; of a server, its address.
    address: str = ""
    # US dollars for a million tokens of input and output, as ONECLAW_PRICES has it; "": unknown.
    price: str = ""
    memory_stays_home: bool = False
    rule: ModelRule | None = None
    # Of a server that was added on a page; None: the environment has it.
    row: ModelServer | None = None
    # Of a server that is not asked: why.
    trouble: StrOrPromise = ""

    @property
    def name(self) -> str:
        """Return its name for people."""
        return self.label or self.model or self.server

    @property
    def is_fixed(self) -> bool:
        """Return whether it is for everybody whatever a rule says: it answers in place of what people may not use."""
        return bool(self.model) and self.model == settings.MODEL

    @property
    def groups(self) -> Sequence[Group]:
        return list(self.rule.groups.all()) if self.rule else []


@require_GET
@changes_rules
def model_rules(request: SignedInRequest) -> HttpResponse:
    """List the servers and the models, each with who may use it."""
    ruled = list(all_ruled())
    context = {"servers": [each for each in ruled if each.server], "models": [each for each in ruled if each.model]}
    return render(request, "team/models.html", context)


@require_GET
@changes_rules
def model_rule(request: SignedInRequest) -> HttpResponse:
    """Show who may use the server or the model of the query, in a form."""
    ruled = ruled_of(request.GET)
    context = {"each": ruled, "groups": Group.objects.all(), "chosen": ruled.groups}
    return render(request, "team/model.html", context)


@require_POST
@changes_rules
@fresh_sign_in_required
def change_model_rule(request: SignedInRequest) -> HttpResponse:
    """Change who may use a server or a model."""
    ruled = ruled_of(request.POST)
    change(request.user, ruled.server, ruled.model, chosen_groups(request.POST))
    messages.success(request, _("Saved. Everybody has it within seconds."))
    return redirect("team_models")


def chosen_groups(sent: QueryDict) -> list[Group] | None:
    """Return the groups that a form has `sent`; None: everybody."""
    if sent.get("who") != "groups":
        return None
    ids = [int(pk) for pk in sent.getlist("groups") if pk.isascii() and pk.isdigit()]
    return list(Group.objects.filter(pk__in=ids))


def ruled_of(named: QueryDict) -> Ruled:
    """Return the server or the model that is `named`. Raise Http404 for one that has no rules."""
    wanted = named.get("server", ""), named.get("model", "")
    ruled = next((each for each in all_ruled() if (each.server, each.model) == wanted), None)
    if ruled is None or ruled.is_fixed:
        raise Http404
    return ruled


@transaction.atomic
def change(actor: User, server: str, model: str, groups: Sequence[Group] | None) -> None:
    """Let the members of `groups` alone use the server or the model from now on; None: everybody."""
    if groups is None:
        ModelRule.objects.filter(server=server, model=model).delete()
    else:
        rule, _made = ModelRule.objects.get_or_create(server=server, model=model)
        rule.groups.set(groups)
    now = "everybody" if groups is None else [group.pk for group in groups]
    record(AuditKind.SETTING_CHANGED, actor=actor, server=server, model=model, groups=now)
    transaction.on_commit(access.known_rules.forget)


def trouble_of(row: ModelServer) -> StrOrPromise:
    """Return why the server of `row` is not asked; "" if it is."""
    if any(each.name.casefold() == row.name.casefold() for each in settings.UPSTREAMS):
        return _("not asked: the environment has a server of this name")
    if not row.is_enabled:
        return _("not in use")
    try:
        lacks_key = upstream_of(row).lacks_key
    except ImproperlyConfigured:
        return _("not asked: its models cannot be read")
    return (
        _("not asked: its key cannot be read, because ONECLAW_SECRET_KEY was changed. Enter it again")
        if lacks_key
        else ""
    )


def all_ruled() -> Iterator[Ruled]:
    """Yield the servers, then the models: those that people may choose, and all that other servers have."""
    rules = {(each.server, each.model): each for each in ModelRule.objects.prefetch_related("groups")}
    for upstream in settings.UPSTREAMS:
        rule = rules.get((upstream.name, ""))
        yield Ruled(upstream.name, address=upstream.url, memory_stays_home=upstream.memory_stays_home, rule=rule)
    for row in ModelServer.objects.all():
        yield Ruled(
            row.name,
            address=row.url,
            memory_stays_home=row.memory_stays_home,
            rule=rules.get((row.name, "")),
            row=row,
            trouble=trouble_of(row),
        )
    labels = {settings.MODEL: "", **settings.MODELS}
    for upstream in upstreams():
        for model in upstream.models:
            labels.setdefault(model, upstream.labels.get(model, ""))
    # What a rule names stays on the page, also when the settings do not name it any more.
    for _server, model in rules:
        if model:
            labels.setdefault(model, "")
    for model, label in labels.items():
        home = home_of(model)
        price = price_of(model, prices_at(home.upstream))
        yield Ruled(
            model=model,
            label=label,
            address=home.name,
            price="/".join(f"{each:g}" for each in price[:2]) if price else "",
            memory_stays_home=home.memory_stays_home,
            rule=rules.get(("", model)),
        )
