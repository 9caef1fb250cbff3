"""URLs of signing in and out, of one-time links, and of the person's own settings."""

from collections.abc import Callable
from functools import wraps
from typing import Any

from allauth.account import views as account
from allauth.idp.oidc import views as identity_provider
from allauth.socialaccount import views as socialaccount
from django.conf import settings
from django.contrib.auth.decorators import login_not_required
from django.http import Http404, HttpRequest, HttpResponse
from django.urls import include, path, re_path
from django.views.generic import RedirectView, TemplateView

from oneclaw.people import groups, travel, usage, views
from oneclaw.people.programs import signing_in
from oneclaw.people.sign_in import provider, suspended
from oneclaw.people.sign_in.saml import views as saml

View = Callable[..., HttpResponse]
ask_an_admin = login_not_required(TemplateView.as_view(template_name="account/password_reset.html"))


def with_mail(view: View, without: View | None = None) -> View:
    """Return `view` as one that is there only with a mail server; `without` it, another view answers, or 404."""

    @wraps(view)
    def chosen(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        if settings.MAIL:
            return view(request, *args, **kwargs)
        if without is None:
            raise Http404
        return without(request)

    return login_not_required(chosen)


# Only those of allauth's identity provider that programs need, under the names that it expects.
of_programs = (
    [
        path("authorize", signing_in.ConsentView.as_view(), name="authorization"),
        path("token", signing_in.TokenView.as_view(), name="token"),
        path("revoke", identity_provider.revoke, name="revoke"),
        path("clients", identity_provider.client_registration, name="client_registration"),
    ],
    "oidc",
)
urlpatterns = [
    path("oauth/", include(([path("", include(of_programs))], "idp"))),
    # Both with and without the path of the resource, as programs ask for it.
    path(".well-known/oauth-protected-resource", signing_in.resource_metadata, name="resource_metadata"),
    path(".well-known/oauth-protected-resource/mcp", signing_in.resource_metadata),
    path(".well-known/oauth-authorization-server", signing_in.server_metadata, name="server_metadata"),
    # Only those of allauth's views that are needed, under the names that it expects.
    path("accounts/login/", views.login, name="account_login"),
    path("accounts/logout/", account.logout, name="account_logout"),
    path("accounts/signup/", account.signup, name="account_signup"),
    path("accounts/inactive/", account.account_inactive, name="account_inactive"),
    path("accounts/password/change/", account.password_change, name="account_change_password"),
    path("accounts/reauthenticate/", account.reauthenticate, name="account_reauthenticate"),
    path(
        "accounts/waiting/",
        login_not_required(TemplateView.as_view(template_name="account/waiting.html")),
        name="account_waiting",
    ),
    path(
        "accounts/new-password/",
        login_not_required(TemplateView.as_view(template_name="account/awaits_owner.html")),
        name="account_awaits_owner",
    ),
    path("accounts/password/reset/", with_mail(account.password_reset, ask_an_admin), name="account_reset_password"),
    path("accounts/password/reset/done/", with_mail(account.password_reset_done), name="account_reset_password_done"),
    re_path(
        "^accounts/password/reset/key/(?P<uidb36>[0-9A-Za-z]+)-(?P<key>.+)/$",
        with_mail(account.password_reset_from_key),
        name="account_reset_password_from_key",
    ),
    path(
        "accounts/password/reset/key/done/",
        with_mail(account.password_reset_from_key_done),
        name="account_reset_password_from_key_done",
    ),
    path(
        "accounts/confirm-email/",
        with_mail(account.email_verification_sent),
        name="account_email_verification_sent",
    ),
    path("accounts/confirm-email/<str:key>/", with_mail(account.confirm_email), name="account_confirm_email"),
    # The list of passkeys is on the page of all factors.
    path("accounts/second-factor/webauthn/", RedirectView.as_view(pattern_name="mfa_index")),
    path("accounts/second-factor/", include("allauth.mfa.urls")),
    path("accounts/sso/", provider.login, name="sso_login"),
    path("accounts/sso/callback/", provider.callback, name="sso_callback"),
    path("accounts/saml/", saml.sign_in, name="saml_sign_in"),
    path("accounts/saml/acs/", saml.answer, name="saml_answer"),
    path("accounts/saml/acs/finish/", saml.finish, name="saml_finish"),
    path("accounts/saml/logout/", saml.sign_out, name="saml_sign_out"),
    path("accounts/saml/metadata/", saml.metadata, name="saml_metadata"),
    # A name that allauth expects.
    path("accounts/sso/cancelled/", socialaccount.login_cancelled, name="socialaccount_login_cancelled"),
    path("welcome/<str:uid>/<str:token>/", views.welcome, name="welcome"),
    path("invited/<str:token>/", views.invited, name="invited"),
    path("first/<str:token>/", views.first_account, name="first_account"),
    path("confirmed/<str:suspended_id>/", suspended.resume, name="resume_change"),
    path("settings/timezone", travel.timezone_here, name="timezone_here"),
    path("settings/notices/dismiss", views.dismiss_notices, name="dismiss_notices"),
    path("settings/devices/<int:device_id>/end", views.end_device, name="end_device"),
    path("settings/usage/", usage.usage, name="usage"),
    path("settings/keys", views.make_key, name="make_key"),
    path("settings/keys/<int:key_id>/revoke", views.revoke_key, name="revoke_key"),
    path("manifest.webmanifest", views.manifest, name="manifest"),
    # Addresses to which allauth leads for what has no page of its own.
    *(path("settings/", views.settings_page, name=name) for name in ("account_email", "account_set_password")),
    path("groups/", groups.group_list, name="groups"),
    path("groups/<int:group_id>", groups.group, name="group"),
    path("settings/", views.settings_page, name="settings"),
]
