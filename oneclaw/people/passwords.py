"""What follows from a new password: API keys end, the person has a notice, and a link that an admin was shown is named.

A link is for a forgotten password. It is mailed to the address of its person; without a mail server the admin who
makes it is shown it, and could use it. So its use ends all sign-ins and keys, is named to the person on each page and
among those who looked at their memory, and while the memory of others is closed to admins, the account stays closed
until an owner says yes with a second factor.
"""

from typing import Any

from allauth.account.signals import password_changed, password_reset, password_set
from allauth.usersessions.models import UserSession
from django.conf import settings
from django.core.mail import send_mail
from django.db import transaction
from django.dispatch import receiver
from django.utils import translation
from django.utils.translation import gettext as _

from oneclaw import runtime_settings
from oneclaw.audit.record import record
from oneclaw.models import AuditKind, User
from oneclaw.people import invitations, keys, notices
from oneclaw.reasons import Reason


@transaction.atomic
def give_link(actor: User, person: User) -> str:
    """Make a one-time link for `person`: mail it to their address and return "", or return it without a mail server.

    Raise OSError when the mail server cannot be reached or refuses.
    """
    link = invitations.invitation_link(person)
    record(AuditKind.RESET_LINK_MADE, actor=actor, person=person, mailed=settings.MAIL)
    if settings.MAIL:
        with translation.override(person.language or settings.LANGUAGE_CODE):
            text = _("With this link you choose a new password for OneClaw. It can be used once:")
            rest = _("If you did not ask for it, ignore this mail: your password stays as it is.")
            subject = _("A new password for OneClaw")
        send_mail(subject, f"{text}\n\n{link}\n\n{rest}", None, [person.email])
        return ""
    person.link_shown_to = actor.pk
    person.save(update_fields=["link_shown_to"])
    return link


@transaction.atomic
def link_used(person: User, *, is_first: bool) -> None:
    """Do what follows when `person` has chosen a password by a link; `is_first`: they had none, and were never here.

    Call after the password is stored, with the row locked.
    """
    admin = User.objects.filter(pk=person.link_shown_to or 0).first()
    shown_to, person.link_shown_to = person.link_shown_to, None
    record(AuditKind.PASSWORD_CHANGED, actor=person, by="link", link_shown_to=shown_to)
    if shown_to is None:
        person.save(update_fields=["link_shown_to"])
        if not is_first:
            end_all(person)
            notices.tell(person, Reason("people.password_by_link"))
        return
    end_all(person)
    if runtime_settings.value("curation") == "closed":
        person.is_active, person.awaits_owner = False, True
        record(AuditKind.PERSON_DISABLED, person=person, by="link")
    person.save(update_fields=["link_shown_to", "is_active", "awaits_owner"])
    who = admin.email if admin is not None else "?"
    record(AuditKind.RESET_LINK_USED, actor=admin, person=person)
    notices.tell(person, Reason("people.password_by_admins_link", {"who": who}), kept=True)


def end_all(person: User) -> None:
    """End all sign-ins and API keys of `person`."""
    for sign_in in UserSession.objects.filter(user=person):
        sign_in.end()
    keys.end_all(person)


class EndKeysValidator:
    """End the API keys of a person with each new password, on whatever way it is saved.

    Django calls `password_changed` of all AUTH_PASSWORD_VALIDATORS when a row is saved after `set_password`, but not
    when it only stores a hash anew. Sign-ins end by themselves: each has a hash of the password.
    """

    def validate(self, password: str, user: User | None = None) -> None:
        """Allow every password."""

    def get_help_text(self) -> str:
        """Return the empty text: no password is refused."""
        return ""

    def password_changed(self, password: str, user: User | None = None) -> None:
        """End the keys, and say so on the person's next page."""
        if user is not None and keys.end_all(user):
            notices.tell(user, Reason("people.keys_ended"), by_mail=False)


@receiver(password_reset)
def on_reset(sender: object, user: User, **kwargs: Any) -> None:
    """Tell the person that their password was reset by mail, and end what the old one had opened."""
    end_all(user)
    User.objects.filter(pk=user.pk).update(link_shown_to=None)
    notices.tell(user, Reason("people.password_reset"))


@receiver([password_changed, password_set])
def on_change(sender: object, user: User, **kwargs: Any) -> None:
    """Tell the person by mail that they have a new password."""
    User.objects.filter(pk=user.pk).update(link_shown_to=None)
    notices.mail(user, Reason("people.password_changed"))
