"""Invite people who have no account: make, mail, renew and revoke invitations, and accept one."""

import csv
import datetime as dt
import hashlib
import io
import secrets
from collections.abc import Iterable
from dataclasses import dataclass, field

from django.conf import settings
from django.core.exceptions import ValidationError
from django.core.mail import send_mail
from django.db import IntegrityError, transaction
from django.urls import reverse
from django.utils.formats import date_format
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from oneclaw.audit.record import record
from oneclaw.models import AuditKind, Group, GroupMember, Invitation, User, clock
from oneclaw.people import roles, space_invitations
from oneclaw.people.addresses import check_email
from oneclaw.people.invitations import base_url
from oneclaw.text import UserFacingError

# Random bytes of a link.
TOKEN_BYTES = 32
# Lines of a file of people.
CSV_MAX_LINES = 1000
DAYS_CHOICES = (1, 3, 7, 14, 30)


class InvitedAlreadyError(UserFacingError):
    """The address has an account or an open invitation."""

    wording = gettext_lazy("%(email)s has an account or an invitation already.")


class ForeignGroupError(UserFacingError):
    """The invitation has groups that the actor may not give to an account whose link they see."""

    wording = gettext_lazy("You can invite to groups only that you are in. Ask an owner of OneClaw.")


class CsvError(UserFacingError):
    """The file of people has mistakes; no person was invited. `lines` has a sentence for each."""

    wording = gettext_lazy("Nobody was invited: correct these lines first.")

    def __init__(self, lines: list[str]) -> None:
        super().__init__()
        self.lines = lines


@dataclass(frozen=True)
class Wish:
    """Whom to invite with what."""

    email: str
    role: str = User.Role.MEMBER
    groups: list[Group] = field(default_factory=list)


@transaction.atomic
def invite(actor: User, wish: Wish, days: int) -> tuple[Invitation, str]:
    """Make an invitation that is valid for `days` and return it with its link, which is not stored.

    Raise MayNotError or ForeignGroupError when the actor may not give that, InvitedAlreadyError for a known address.
    """
    # Those of a provider it keeps itself.
    groups = [group for group in wish.groups if not group.managed_by]
    check_may_give(actor, wish.role, groups)
    email = wish.email.strip().lower()
    if email and User.objects.filter(email__iexact=email).exists():
        raise InvitedAlreadyError(email=email)
    # An expired one makes room.
    Invitation.objects.filter(email__iexact=email, expires_at__lte=clock.database_now(), accepted_at=None).exclude(
        email=""
    ).update(revoked_at=clock.database_now())
    token = secrets.token_urlsafe(TOKEN_BYTES)
    try:
        with transaction.atomic():
            invitation = Invitation.objects.create(
                email=email,
                role=wish.role,
                token_hash=hashed(token),
                invited_by=actor,
                expires_at=clock.read_database_time() + dt.timedelta(days=days),
            )
    except IntegrityError as error:
        raise InvitedAlreadyError(email=email) from error
    invitation.groups.set(groups)
    record(AuditKind.INVITED, actor=actor, invitation=invitation.pk, role=invitation.role)
    return invitation, link_of(token)


def check_may_give(actor: User, role: str, groups: Iterable[Group]) -> None:
    """Raise MayNotError or ForeignGroupError unless `actor` may give `role` and `groups` by a link that they see."""
    if not roles.may_give(actor, role):
        raise roles.MayNotError
    if not {group.pk for group in groups} <= set(roles.groups_to_give(actor).values_list("pk", flat=True)):
        raise ForeignGroupError


@transaction.atomic
def renew(actor: User, invitation_id: int) -> tuple[Invitation, str] | None:
    """Give a pending invitation a new link by `actor`, which ends the old one; None when it is not pending any more.

    Raise MayNotError or ForeignGroupError when the actor may not give what the invitation gives.
    """
    invitation = Invitation.objects.pending().select_for_update().filter(pk=invitation_id).first()
    if invitation is None:
        return None
    check_may_give(actor, invitation.role, invitation.groups.all())
    token = secrets.token_urlsafe(TOKEN_BYTES)
    # The new link is shown, unless it is mailed now.
    invitation.token_hash, invitation.invited_by, invitation.mailed_at = hashed(token), actor, None
    invitation.save(update_fields=["token_hash", "invited_by", "mailed_at"])
    return invitation, link_of(token)


@transaction.atomic
def revoke(actor: User, invitation_id: int) -> bool:
    """Revoke a pending invitation, and return whether it was pending."""
    revoked = Invitation.objects.pending().filter(pk=invitation_id).update(revoked_at=clock.database_now())
    if revoked:
        record(AuditKind.INVITATION_REVOKED, actor=actor, invitation=invitation_id)
    return bool(revoked)


def mail(invitation: Invitation, link: str) -> None:
    """Mail `link` to the invited person. Raise OSError when the mail server cannot be reached or refuses."""
    invited_by, until = invitation.invited_by, date_format(invitation.expires_at, "SHORT_DATE_FORMAT")
    paragraphs = [
        _("{person} has invited you to OneClaw.").format(person=invited_by) if invited_by else _("You are invited."),
        _("With this link you create your account. It can be used once:"),
        link,
        _("It is valid until {until}. If you expected no invitation, ignore this mail.").format(until=until),
    ]
    send_mail(_("Your invitation to OneClaw"), "\n\n".join(paragraphs), None, [invitation.email])
    Invitation.objects.filter(pk=invitation.pk).update(mailed_at=clock.database_now())


def link_of(token: str) -> str:
    """Return the link with `token`."""
    return base_url() + reverse("invited", args=[token])


def hashed(token: str) -> str:
    """Return what is stored of `token`. Pure."""
    return hashlib.sha256(token.encode()).hexdigest()


def pending_with(token: str, *, lock: bool = False) -> Invitation | None:
    """Return the pending invitation with the link of `token`, locked until the end of the transaction on request."""
    pending = Invitation.objects.pending()
    return (pending.select_for_update() if lock else pending).filter(token_hash=hashed(token)).first()


def pending_for(email: str) -> Invitation | None:
    """Return the pending invitation of `email`. The caller knows that the address is the person's."""
    return Invitation.objects.pending().select_for_update().filter(email__iexact=email).exclude(email="").first()


def accept(invitation: Invitation, user: User, *, is_proven: bool) -> None:
    """Give `user`, whose account is new, what `invitation` promises, and the spaces that had invited its address.

    `is_proven`: the person reads the mail of the address, or a provider vouches for it. In the caller's transaction.
    """
    roles.set_role(user, invitation.role)
    user.save(update_fields=["role", "is_staff", "is_superuser"])
    GroupMember.objects.bulk_create(
        [GroupMember(group=group, user=user) for group in invitation.groups.filter(managed_by="")],
        ignore_conflicts=True,
    )
    Invitation.objects.filter(pk=invitation.pk).update(accepted_at=clock.database_now(), accepted_by=user)
    if invitation.email:
        space_invitations.accept_all(user, invitation.invited_by, is_proven=is_proven)
    record(AuditKind.INVITATION_USED, actor=user, invitation=invitation.pk, role=invitation.role)


def wishes_of_csv(actor: User, text: str) -> list[Wish]:
    """Return whom the lines `email, role, group; group` of `text` name; only the address is required.

    A first line with the word email is skipped. Raise CsvError with all mistakes.
    """
    found: dict[str, Wish] = {}
    mistakes: list[str] = []
    groups = {group.name.lower(): group for group in Group.objects.filter(managed_by="")}
    for number, row in enumerate(rows_of(text), 1):
        email, role, names = ([cell.strip() for cell in row] + ["", "", ""])[:3]
        email, role = email.lower(), role.lower()
        if not any((email, role, names)) or (number == 1 and email == "email"):
            continue
        unknown = [name for name in split(names) if name.lower() not in groups]
        if number > CSV_MAX_LINES:
            mistakes.append(_("The file has more than {count} lines.").format(count=CSV_MAX_LINES))
            break
        if mistake := mistake_in(actor, email, role, unknown, seen=email in found):
            mistakes.append(_("Line {number}: {mistake}").format(number=number, mistake=mistake))
        found[email] = Wish(email, role, [groups[name.lower()] for name in split(names) if name not in unknown])
    if mistakes:
        raise CsvError(mistakes)
    return list(found.values())


def rows_of(text: str) -> Iterable[list[str]]:
    """Return the rows of a CSV text, whose separator is a comma, semicolon or tab, as in its first line. Pure.

    Raise CsvError at a row that cannot be read.
    """
    lines = text.lstrip("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
    separator = max(",\t;", key=lines.partition("\n")[0].count)
    try:
        yield from csv.reader(io.StringIO(lines), delimiter=separator)
    except csv.Error:
        raise CsvError([_("This is not a list of people: a cell is too long.")]) from None


def split(names: str) -> list[str]:
    """Return the names between semicolons or bars. Pure."""
    return [name.strip() for name in names.replace("|", ";").split(";") if name.strip()]


def mistake_in(actor: User, email: str, role: str, unknown: list[str], *, seen: bool) -> str:
    """Return what is wrong with one line; "" when nothing is."""
    try:
        check_email(email)
    except ValidationError:
        return _("“{email}” is not an email address.").format(email=email)
    if seen:
        return _("{email} is there twice.").format(email=email)
    if role not in User.Role.values:
        return _("“{role}” is not a role.").format(role=role)
    if not roles.may_give(actor, role):
        return str(roles.MayNotError())
    if unknown:
        return _("There is no group “{name}”.").format(name=unknown[0])
    known = User.objects.filter(email__iexact=email).exists()
    if known or Invitation.objects.pending().filter(email__iexact=email).exists():
        return str(InvitedAlreadyError(email=email))
    return ""


@transaction.atomic
def invite_all(actor: User, wishes: list[Wish], days: int) -> list[tuple[Invitation, str]]:
    """Invite all of `wishes`, or none when one of them is refused."""
    return [invite(actor, wish, days) for wish in wishes]


def can_mail() -> bool:
    """Return whether invitations can be mailed."""
    return settings.MAIL
