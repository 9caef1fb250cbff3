"""URLs of signing in and out, of one-time links, and of the person's own settings."""

from allauth.account import views as account
from django.contrib.auth.decorators import login_not_required
from django.urls import path
from django.views.generic import TemplateView

from oneclaw.people import groups, views

urlpatterns = [
    # Only those of allauth's views that are needed, under the names that it expects.
    path("accounts/login/", views.login, name="account_login"),
    path("accounts/logout/", account.logout, name="account_logout"),
    path("accounts/signup/", account.signup, name="account_signup"),
    path("accounts/inactive/", account.account_inactive, name="account_inactive"),
    path("accounts/password/change/", account.password_change, name="account_change_password"),
    path(
        "accounts/password/reset/",
        login_not_required(TemplateView.as_view(template_name="account/password_reset.html")),
        name="account_reset_password",
    ),
    path("welcome/<str:uid>/<str:token>/", views.welcome, name="welcome"),
    path("first/<str:token>/", views.first_account, name="first_account"),
    path("settings/devices/<int:device_id>/end", views.end_device, name="end_device"),
    path("settings/keys", views.make_key, name="make_key"),
    path("settings/keys/<int:key_id>/revoke", views.revoke_key, name="revoke_key"),
    path("manifest.webmanifest", views.manifest, name="manifest"),
    path("groups/", groups.group_list, name="groups"),
    path("groups/<int:group_id>", groups.group, name="group"),
    path("settings/", views.settings_page, name="settings"),
]
