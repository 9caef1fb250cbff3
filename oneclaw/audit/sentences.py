"""What an event of the audit log says, as a sentence about people."""

from collections.abc import Mapping
from typing import Any

from django.utils.translation import gettext, pgettext
from django.utils.translation import gettext_lazy as _

from oneclaw.models import AuditEvent, AuditKind, Budget, User
from oneclaw.text import StrOrPromise

# By kind, of what a person does alone, or of which only that is known.
SENTENCES: Mapping[str, StrOrPromise] = {
    AuditKind.SIGNED_IN: _("%(who)s signed in."),
    AuditKind.CONFIRMED: _("%(who)s confirmed who they are."),
    AuditKind.SIGN_IN_FAILED: _("A sign-in failed."),
    AuditKind.SIGNED_OUT: _("%(who)s signed out."),
    AuditKind.PASSWORD_CHANGED: _("%(who)s chose a new password."),
    AuditKind.SECOND_FACTOR_ADDED: _("%(who)s added a second factor."),
    AuditKind.SECOND_FACTOR_REMOVED: _("%(who)s removed a second factor."),
    AuditKind.INVITED: _("%(who)s made an invitation."),
    AuditKind.INVITATION_REVOKED: _("%(who)s revoked an invitation."),
    AuditKind.INVITATION_USED: _("%(who)s accepted an invitation."),
    AuditKind.PERSON_LEAVES: _("%(who)s began to delete their account."),
    AuditKind.PERSON_REMOVED: _("The account of %(who)s was removed."),
    AuditKind.HOLD_SET: _("%(who)s set a legal hold."),
    AuditKind.HOLD_ENDED: _("%(who)s ended a legal hold."),
    AuditKind.GROUP_CHANGED: _("%(who)s changed a group."),
    AuditKind.SPACE_MADE: _("%(who)s made a space."),
    AuditKind.SPACE_CHANGED: _("%(who)s changed a space."),
    AuditKind.SPACE_REMOVED: _("%(who)s deleted a space."),
    AuditKind.MEMBERS_CHANGED: _("%(who)s changed the members of a space."),
    AuditKind.EXPORTED: _("%(who)s exported data."),
    AuditKind.RESTORED: _("A backup was restored."),
    AuditKind.SHARED: _("%(who)s shared a conversation."),
    AuditKind.SHARE_ENDED: _("%(who)s stopped sharing a conversation."),
    AuditKind.KEY_MADE: _("%(who)s made an API key."),
    AuditKind.KEY_REVOKED: _("%(who)s revoked an API key."),
    AuditKind.KEY_CHANGED: _("%(who)s changed what a program may do."),
    AuditKind.PROGRAM_CALLED: _("A program of %(who)s asked memory."),
    AuditKind.SETTING_CHANGED: _("%(who)s changed a setting."),
    AuditKind.DELETED: _("%(who)s deleted data."),
    AuditKind.FORGOTTEN: _("%(who)s had words forgotten in memory."),
    AuditKind.MEMORY_LOOKED_AT: _("%(who)s opened the memory of another person."),
    AuditKind.MEMORY_CURATED: _("%(who)s changed the memory of another person."),
    AuditKind.ROW_CHANGED: _("%(who)s changed a row in the administration."),
}
# By kind, of what concerns another person.
ABOUT_ANOTHER: Mapping[str, StrOrPromise] = {
    AuditKind.SIGN_IN_FAILED: _("A sign-in as %(whom)s failed."),
    AuditKind.SIGNED_OUT: _("%(who)s signed %(whom)s out everywhere."),
    AuditKind.RESET_LINK_MADE: _("%(who)s made a link with which %(whom)s chooses a new password."),
    AuditKind.RESET_LINK_USED: _("%(whom)s used the link for a new password from %(who)s."),
    AuditKind.PERSON_MADE: _("%(who)s made the account of %(whom)s."),
    AuditKind.PERSON_DISABLED: _("%(who)s disabled the account of %(whom)s."),
    AuditKind.PERSON_ENABLED: _("%(who)s enabled the account of %(whom)s."),
    AuditKind.PERSON_LEAVES: _("%(who)s began to remove the account of %(whom)s."),
    AuditKind.PERSON_REMOVED: _("%(who)s removed the account of %(whom)s."),
    AuditKind.HOLD_SET: _("%(who)s set a legal hold on %(whom)s."),
    AuditKind.HOLD_ENDED: _("%(who)s ended the legal hold on %(whom)s."),
    AuditKind.RIGHTS_CHANGED: _("%(who)s changed the role of %(whom)s to %(role)s."),
    AuditKind.GROUP_CHANGED: _("%(who)s changed the groups of %(whom)s."),
    AuditKind.MEMBERS_CHANGED: _("%(who)s changed the role of %(whom)s in a space."),
    AuditKind.EXPORTED: _("%(who)s exported data of %(whom)s."),
    AuditKind.KEY_REVOKED: _("%(who)s revoked the API keys of %(whom)s."),
    AuditKind.DELETED: _("%(who)s deleted data of %(whom)s."),
    AuditKind.MEMORY_LOOKED_AT: _("%(who)s opened the memory of %(whom)s."),
}
BUDGET_SET, BUDGET_DELETED = _("%(who)s set a budget: %(limits)s."), _("%(who)s deleted a budget: %(limits)s.")


def sentence_of(event: AuditEvent, who: str, whom: str) -> str:
    """Return the sentence of `event`, which `who` has caused and which concerns `whom`, "" for no other person."""
    details = event.details
    if event.kind == AuditKind.SETTING_CHANGED and "budget" in details:
        wording = BUDGET_DELETED if details.get("deleted") else BUDGET_SET
        return str(wording) % {"who": who, "limits": _limits(details)}
    found = ABOUT_ANOTHER.get(event.kind) if whom else SENTENCES.get(event.kind)
    found = found or SENTENCES.get(event.kind) or ABOUT_ANOTHER.get(event.kind)
    if found is None:
        # Of a newer release.
        return f"{who}: {event.label}"
    role = details.get("role", "")
    label = str(User.Role(role).label) if role in User.Role.values else role
    return str(found) % {"who": who, "whom": whom or who, "role": label}


def rest_of(event: AuditEvent) -> str:
    """Return the details of `event` that its sentence does not have: names and values, without the empty ones."""
    details = dict(event.details)
    if event.kind == AuditKind.SETTING_CHANGED and "budget" in details:
        for name in ("budget", "period", "dollars", "tokens", "deleted"):
            details.pop(name, None)
    if event.kind == AuditKind.RIGHTS_CHANGED:
        details.pop("role", None)
    return ", ".join(f"{name}: {value}" for name, value in sorted(details.items()) if value not in ("", None, [], {}))


def by_server() -> str:
    """Return the words for an event of which no person is known."""
    return pgettext("audit log", "The server")


def removed_person(number: int) -> str:
    """Return the words for a person whose account is gone."""
    return gettext("person %(id)s, removed") % {"id": number}


def _limits(details: Mapping[str, Any]) -> str:
    period = details.get("period", "")
    parts = [str(Budget.Period(period).label)] if period in Budget.Period.values else []
    # A budget without one of the limits was recorded with 0.
    if float(details.get("dollars") or 0):
        parts.append(gettext("%(most)s US dollars") % {"most": details["dollars"]})
    if details.get("tokens"):
        parts.append(gettext("%(most)s tokens") % {"most": details["tokens"]})
    return ", ".join(parts)
