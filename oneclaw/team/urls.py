"""URLs of the pages for those who run the server for others."""

from django.urls import path

from oneclaw.team import usage

urlpatterns = [
    path("team/usage/", usage.usage, name="team_usage"),
    path("team/usage.csv", usage.as_csv, name="team_usage_csv"),
]
