"""Pages of one-time links and of the person's own settings."""

import zoneinfo

from allauth.account.models import EmailAddress
from allauth.account.utils import perform_login
from allauth.account.views import LoginView
from django.contrib import auth, messages
from django.contrib.auth.decorators import login_not_required
from django.db import IntegrityError, transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import translation
from django.utils.translation import gettext as _
from django.views.decorators.cache import cache_control, never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from oneclaw import runtime_settings
from oneclaw.config import release
from oneclaw.models import User
from oneclaw.people import devices, invitations, keys, notices, passwords
from oneclaw.people.forms import FirstAccountForm, InvitedForm, KeyForm, SettingsForm, WelcomeForm
from oneclaw.people.requests import SignedInRequest
from oneclaw.people.sign_in import inviting, providers, suspended
from oneclaw.people.sign_in.fresh import fresh_sign_in_required

BACKEND = "allauth.account.auth_backends.AuthenticationBackend"

login = LoginView.as_view(
    extra_context={
        "signup_open": lambda: runtime_settings.value("sign_up") != "closed",
        "nobody_yet": lambda: not User.objects.exists(),
        "providers": providers.configured,
    }
)


@login_not_required
@sensitive_post_parameters()
@never_cache
@require_http_methods(["GET", "POST"])
def welcome(request: HttpRequest, uid: str, token: str) -> HttpResponse:
    """Let a new person choose a password, and sign them in; the link is not valid afterwards."""
    with transaction.atomic():
        # Of two concurrent uses of the link, the second waits here and finds it used.
        user = invitations.invited_user(uid, token, lock=request.method == "POST")
        if user is None:
            return render(request, "people/link_ended.html", status=410)
        form = WelcomeForm(request.POST or None, user=user, initial={"name": user.first_name})
        if request.method == "POST" and form.is_valid():
            is_first = user.last_seen is None and not user.has_usable_password()
            person = form.save()
            passwords.link_used(person, is_first=is_first)
            # Whoever has a second factor is still asked for it: a link stands for a forgotten password only.
            return perform_login(request, person, email_verification="none", redirect_url=reverse("chat"))
    return render(request, "people/welcome.html", {"form": form, "email": user.email})


@login_not_required
@sensitive_post_parameters()
@never_cache
@require_http_methods(["GET", "POST"])
def invited(request: HttpRequest, token: str) -> HttpResponse:
    """Let an invited person create their account, and sign them in; the link is not valid afterwards."""
    with transaction.atomic():
        invitation = inviting.pending_with(token, lock=request.method == "POST")
        if invitation is None:
            return render(request, "people/link_ended.html", status=410)
        if User.objects.filter(email__iexact=invitation.email).exists():
            return render(request, "people/link_ended.html", {"has_account": True}, status=410)
        form = InvitedForm(request.POST or None, user=User(email=invitation.email))
        if request.method == "POST" and form.is_valid():
            try:
                with transaction.atomic():
                    person = form.save()
            except IntegrityError:
                # The person has signed up in another way in this moment.
                return render(request, "people/link_ended.html", {"has_account": True}, status=410)
            inviting.accept(invitation, person, is_proven=bool(invitation.mailed_at))
            if invitation.mailed_at:
                # Only who reads its mail has the link.
                EmailAddress.objects.create(user=person, email=person.email, primary=True, verified=True)
            auth.login(request, person, backend=BACKEND)
            return redirect("chat")
    return render(request, "people/welcome.html", {"form": form, "email": invitation.email, "invited": True})


@login_not_required
@sensitive_post_parameters()
@never_cache
@require_http_methods(["GET", "POST"])
def first_account(request: HttpRequest, token: str) -> HttpResponse:
    """Let the first person create their account, an administrator's, and sign them in."""
    if not invitations.first_account_open(token):
        return render(request, "people/link_ended.html", status=410)
    form = FirstAccountForm(request.POST or None, user=User())
    if request.method == "POST" and form.is_valid():
        data = form.cleaned_data
        user = invitations.create_first_account(
            email=data["email"], password=data["password1"], first_name=data["name"]
        )
        if user is None:
            return render(request, "people/link_ended.html", status=410)
        auth.login(request, user, backend=BACKEND)
        return redirect("chat")
    return render(request, "people/welcome.html", {"form": form, "first": True})


@require_http_methods(["GET", "POST"])
def settings_page(request: SignedInRequest) -> HttpResponse:
    """Show the settings of the person, or save them."""
    form = SettingsForm(request.POST or None, instance=request.user)
    if request.method == "POST" and form.is_valid():
        form.save()
        with translation.override(request.user.language or None):
            messages.success(request, _("Saved."))
        return redirect("settings")
    return settings_shown(request, form, KeyForm())


def settings_shown(
    request: SignedInRequest, form: SettingsForm, key_form: KeyForm, token: str = "", status: int = 200
) -> HttpResponse:
    """Return the settings page. `token` is that of a key made just now; it is shown only once."""
    context = {
        "form": form,
        "timezones": sorted(zoneinfo.available_timezones()),
        "devices": devices.devices_of(request.user, request.session.session_key),
        "key_form": key_form,
        "keys": request.user.api_keys.all(),
        "providers": providers.connections(request.user),
        "token": token,
        "version": release.version(),
    }
    return render(request, "people/settings.html", context, status=status)


@require_POST
def end_device(request: SignedInRequest, device_id: int) -> HttpResponse:
    """Sign out on the device `device_id`, which may be the current one."""
    devices.end_sign_in(request.user, device_id)
    messages.success(request, _("Signed out on that device."))
    return redirect("settings")


@require_POST
def dismiss_notices(request: SignedInRequest) -> HttpResponse:
    """Remove the notices that the person has read."""
    notices.dismiss(request.user)
    return redirect(suspended.page_of_form(request))


@never_cache
@require_http_methods(["GET", "POST"])
def make_key(request: SignedInRequest) -> HttpResponse:
    """Make an API key and show its token once. A GET, as after “back” in the browser, redirects to the settings."""
    return redirect("settings") if request.method == "GET" else key_made(request)


@fresh_sign_in_required
def key_made(request: SignedInRequest) -> HttpResponse:
    """Make the key that the form describes; a key goes on when the sign-in has ended, so that it needs a fresh one."""
    key_form, token = KeyForm(request.POST), ""
    if key_form.is_valid():
        try:
            _key, token = keys.make(request.user, key_form.cleaned_data["name"], key_form.cleaned_data["period"])
            key_form = KeyForm()
        except keys.TooManyKeysError as refused:
            key_form.add_error(None, str(refused))
    if key_form.errors:
        # The form with the error is far down the page.
        key_form.fields["name"].widget.attrs["autofocus"] = True
    form = SettingsForm(instance=request.user)
    return settings_shown(request, form, key_form, token, status=200 if token else 422)


@require_POST
def revoke_key(request: SignedInRequest, key_id: int) -> HttpResponse:
    """Revoke the API key `key_id` of the person."""
    keys.revoke(request.user, key_id)
    messages.success(request, _("The key was revoked."))
    return redirect("settings")


@login_not_required
@require_GET
@cache_control(max_age=86_400)
def manifest(request: HttpRequest) -> HttpResponse:
    """Return the web app manifest, with which a browser can install OneClaw."""
    return render(request, "manifest.json", content_type="application/manifest+json")
