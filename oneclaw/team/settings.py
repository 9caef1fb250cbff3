"""The page of settings that change without a restart, and the banner that shows two of them to everybody."""

from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import permission_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.http import url_has_allowed_host_and_scheme
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET, require_POST

from oneclaw import runtime_settings
from oneclaw.llm.budgets import refusal_of
from oneclaw.models import RuntimeSetting, User
from oneclaw.people import notices
from oneclaw.people.requests import SignedInRequest
from oneclaw.people.sign_in.fresh import fresh_sign_in_required
from oneclaw.runtime_settings.declared import DECLARED, TEXT_MAX_CHARS
from oneclaw.spend.budgets import may_exist, states_of
from oneclaw.text import UserFacingError

changes_settings = permission_required("oneclaw.change_runtimesetting", raise_exception=True)


@require_GET
@changes_settings
def settings_page(request: SignedInRequest) -> HttpResponse:
    """Show each setting with its value, who has changed it when, and whether the environment decides it."""
    rows = RuntimeSetting.objects.select_related("changed_by").in_bulk()
    context = {
        "settings": [(each, runtime_settings.value(each.name), rows.get(each.name)) for each in DECLARED.values()],
        "longest": TEXT_MAX_CHARS,
    }
    return render(request, "team/settings.html", context)


@require_POST
@changes_settings
@fresh_sign_in_required
def change_setting(request: SignedInRequest, name: str) -> HttpResponse:
    """Change one setting."""
    if name not in DECLARED:
        raise Http404
    try:
        runtime_settings.change(request.user, name, request.POST.get("value", ""))
    except UserFacingError as refused:
        messages.error(request, str(refused))
    else:
        messages.success(request, _("Saved. Everybody has it within seconds."))
    return redirect("team_settings")


@require_POST
def dismiss(request: SignedInRequest) -> HttpResponse:
    """Hide the announcement from the person, on all their devices, until there is another one."""
    mark = request.POST.get("text", "")
    if mark == runtime_settings.fingerprint(runtime_settings.value("announcement")):
        User.objects.filter(pk=request.user.pk).update(dismissed_announcement=mark)
    back = request.headers.get("Referer", "")
    is_own = url_has_allowed_host_and_scheme(back, {request.get_host()}, request.is_secure())
    return redirect(back if is_own else "chat")


def banner(request: HttpRequest) -> dict[str, Any]:
    """Return what a page shows above its content, found out when a template asks; a context processor."""
    return {"banner": lambda: banner_of(request)}


def banner_of(request: HttpRequest) -> dict[str, Any]:
    """Return the texts of maintenance and announcement, the notices for a signed-in person, and which budget of theirs
    is used up, because what they write now would be refused."""
    person = getattr(request, "user", None)
    if not isinstance(person, User):
        return {}
    text = runtime_settings.value("announcement")
    mark = runtime_settings.fingerprint(text) if text else ""
    is_dismissed = bool(mark) and person.dismissed_announcement == mark
    used_up = refusal_of(person, states_of(person)) if may_exist() else None
    shown = {
        "maintenance": runtime_settings.value("maintenance"),
        "notices": notices.sentences(person),
        "used_up": str(used_up.reason) if used_up else "",
    }
    return shown if is_dismissed else {**shown, "announcement": text, "mark": mark}
