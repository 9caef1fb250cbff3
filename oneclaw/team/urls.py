"""URLs of the pages for those who run the server for others, below /team/."""

from django.urls import path

from oneclaw.team import audit, invitations, keeping, offboarding, pages, people, usage

urlpatterns = [
    path("", pages.first_page, name="team"),
    path("people/", people.people, name="team_people"),
    path("people/<int:person_id>/role", people.change_role, name="change_role"),
    path("people/<int:person_id>/active", people.set_active, name="set_active"),
    path("people/<int:person_id>/link", people.give_link, name="give_link"),
    path("people/<int:person_id>/offboard", offboarding.offboard_person, name="offboard"),
    path("offboardings/<int:offboarding_id>", offboarding.offboarding, name="offboarding"),
    path("offboardings/<int:offboarding_id>.json", offboarding.receipt, name="offboarding_receipt"),
    path("retention/", keeping.keeping, name="team_keeping"),
    path("retention/rules/set", keeping.set_rule, name="set_rule"),
    path("retention/rules/<int:rule_id>/remove", keeping.remove_rule, name="remove_rule"),
    path("retention/holds/set", keeping.set_hold, name="set_hold"),
    path("retention/holds/<int:hold_id>/end", keeping.end_hold, name="end_hold"),
    path("invitations/", invitations.invitations, name="invitations"),
    path("invitations/new", invitations.invite, name="invite"),
    path("invitations/many", invitations.invite_many, name="invite_many"),
    path("invitations/<int:invitation_id>/renew", invitations.renew, name="renew_invitation"),
    path("invitations/<int:invitation_id>/revoke", invitations.revoke, name="revoke_invitation"),
    path("waiting/<int:person_id>", invitations.decide, name="decide_sign_up"),
    path("usage/", usage.usage, name="team_usage"),
    path("usage.csv", usage.as_csv, name="team_usage_csv"),
    path("audit/", audit.audit_page, name="team_audit"),
    path("audit/export.jsonl", audit.audit_export, name="team_audit_export"),
]
