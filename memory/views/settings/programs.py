"""Serve the pages of the programs that a person has connected: what each may do, what it has read and saved, and how to
connect another one."""

import datetime as dt
from collections.abc import Mapping
from typing import Any

from django.contrib import messages
from django.db import transaction
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST

from memory.access.programs import ProgramAccess
from memory.provenance.programs import SHOWN_DAYS, read_lines, saved_texts
from oneclaw.audit.record import record
from oneclaw.models import ApiKey, AuditKind, User
from oneclaw.people import keys
from oneclaw.people.programs.form import AccessForm, NewProgramForm
from oneclaw.people.programs.grants import Grant, Level, most_level
from oneclaw.people.requests import SignedInRequest
from oneclaw.people.sign_in.fresh import fresh_sign_in_required

# How long a key that is made here is valid (oneclaw/people/keys.py).
PERIOD = "year"


@never_cache
@require_http_methods(["GET", "POST"])
def programs_page(request: SignedInRequest) -> HttpResponse:
    """Show the connected programs, and how to connect one; POST makes a key for one and shows it once."""
    return made(request) if request.method == "POST" else shown(request, NewProgramForm(request.user))


@fresh_sign_in_required
def made(request: SignedInRequest) -> HttpResponse:
    """Make a key for a program; it goes on when the sign-in has ended, so that it needs a fresh one."""
    form = NewProgramForm(request.user, request.POST)
    if form.is_valid():
        try:
            _key, token = keys.make(request.user, form.cleaned_data["name"], PERIOD, form.access())
            return shown(request, NewProgramForm(request.user), token)
        except keys.TooManyKeysError as refused:
            form.add_error(None, str(refused))
    return shown(request, form, status=422)


def shown(request: SignedInRequest, form: NewProgramForm, token: str = "", status: int = 200) -> HttpResponse:
    """Return the page; `token` is that of a key made just now."""
    url = request.build_absolute_uri("/mcp")
    context = {
        "form": form,
        "token": token,
        "url": url,
        "programs": [about(key) for key in ApiKey.objects.visible_to(request.user)],
        "is_off": most_level() is None,
    }
    return render(request, "memory/programs.html", context, status=status)


@require_http_methods(["GET", "POST"])
def program_page(request: SignedInRequest, key_id: int) -> HttpResponse:
    """Show what a program may do, and what it has read and saved in the last days; POST changes what it may."""
    key = own_key(request, key_id)
    if request.method == "POST":
        return changed(request, key)
    return program_shown(request, key, AccessForm(request.user, access=key.access))


@fresh_sign_in_required
def changed(request: SignedInRequest, key: ApiKey) -> HttpResponse:
    """Store what the program may do from now on."""
    form = AccessForm(request.user, request.POST, access=key.access)
    if not form.is_valid():
        return program_shown(request, key, form)
    change_access(request.user, key, form.access())
    messages.success(request, _("Saved. This applies to the next request of the program."))
    return redirect("memory_program", key.pk)


def program_shown(request: SignedInRequest, key: ApiKey, form: AccessForm) -> HttpResponse:
    """Return the page of the program with `key`."""
    since = timezone.now() - dt.timedelta(days=SHOWN_DAYS)
    context = {
        "program": about(key),
        "form": form,
        "read": read_lines(key, request.user, since),
        "saved": saved_texts(key, since),
        "days": SHOWN_DAYS,
    }
    return render(request, "memory/program.html", context, status=422 if form.errors else 200)


@require_POST
def revoke_program(request: SignedInRequest, key_id: int) -> HttpResponse:
    """End what a program may do, at once."""
    keys.revoke(request.user, own_key(request, key_id).pk)
    messages.success(request, _("The program has no access any more."))
    return redirect("memory_programs")


@transaction.atomic
def change_access(user: User, key: ApiKey, access: Mapping[str, Any]) -> None:
    """Store what the program with `key` may do from its next request on."""
    ApiKey.objects.filter(pk=key.pk).update(access=access)
    record(AuditKind.KEY_CHANGED, actor=user, key=key.pk, access=dict(access))


def own_key(request: SignedInRequest, key_id: int) -> ApiKey:
    """Return a key of the person. Raise Http404 for any other."""
    return get_object_or_404(ApiKey.objects.visible_to(request.user).select_related("user"), pk=key_id)


def about(key: ApiKey) -> dict[str, Any]:
    """Return what the pages say of a program: what it may read now, and in which of these memories it saves."""
    access = ProgramAccess.of(Grant.of(key))
    saves = [space for space, level in access.levels.items() if level > Level.READ]
    return {
        "key": key,
        "is_whole": key.access is None,
        "reads": [_("your own memory") if space.is_private else space.name for space in access.spaces],
        "saves": [_("your own memory") if space.is_private else space.name for space in saves],
        "asks": [each for each in saves if access.levels[each] == Level.PROPOSE],
        "hears": access.reads_conversations,
    }
