"""URLs of the pages for those who run the server for others."""

from django.urls import path

from oneclaw.team import audit, usage

urlpatterns = [
    path("team/usage/", usage.usage, name="team_usage"),
    path("team/usage.csv", usage.as_csv, name="team_usage_csv"),
    path("team/audit/", audit.audit_page, name="team_audit"),
    path("team/audit/export.jsonl", audit.audit_export, name="team_audit_export"),
]
