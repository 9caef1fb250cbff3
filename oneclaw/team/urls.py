"""URLs of the pages for those who run the server for others, below /team/."""

from django.urls import path

from oneclaw.team import audit, budgets, health, invitations, pages, people, settings, usage

urlpatterns = [
    path("", pages.first_page, name="team"),
    path("people/", people.people, name="team_people"),
    path("people/<int:person_id>/", people.person_page, name="team_person"),
    path("people/<int:person_id>/sign-out", people.sign_out, name="sign_out_person"),
    path("people/<int:person_id>/role", people.change_role, name="change_role"),
    path("people/<int:person_id>/active", people.set_active, name="set_active"),
    path("people/<int:person_id>/link", people.give_link, name="give_link"),
    path("invitations/", invitations.invitations, name="invitations"),
    path("invitations/new", invitations.invite, name="invite"),
    path("invitations/many", invitations.invite_many, name="invite_many"),
    path("invitations/<int:invitation_id>/renew", invitations.renew, name="renew_invitation"),
    path("invitations/<int:invitation_id>/revoke", invitations.revoke, name="revoke_invitation"),
    path("waiting/<int:person_id>", invitations.decide, name="decide_sign_up"),
    path("usage/", usage.usage, name="team_usage"),
    path("usage.csv", usage.as_csv, name="team_usage_csv"),
    path("budgets/", budgets.budgets, name="team_budgets"),
    path("budgets/<int:budget_id>/", budgets.budget, name="team_budget"),
    path("settings/", settings.settings_page, name="team_settings"),
    path("settings/<str:name>", settings.change_setting, name="change_setting"),
    path("announcement/dismiss", settings.dismiss, name="dismiss_announcement"),
    path("health/", health.health, name="team_health"),
    path("audit/", audit.audit_page, name="team_audit"),
    path("audit/export.jsonl", audit.audit_export, name="team_audit_export"),
]
