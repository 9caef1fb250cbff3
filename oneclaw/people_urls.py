"""Addresses of one-time links and the person's own settings."""

from django.urls import path

from oneclaw import people_views

urlpatterns = [
    path("welcome/<str:uid>/<str:token>/", people_views.welcome, name="welcome"),
    path("first/<str:token>/", people_views.first_account, name="first_account"),
    path("settings/", people_views.settings_page, name="settings"),
]
