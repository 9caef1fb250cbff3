"""Email addresses from outside: of forms, files, commands and directories; and what follows when one changes."""

from allauth.account.models import EmailAddress
from django.core.validators import MaxLengthValidator, validate_email

from oneclaw.models import SpaceInvitation, User
from oneclaw.people import notices
from oneclaw.reasons import Reason

# What a row holds, and about what a mail server takes: RFC 5321, 4.5.3.1.3, has 256 with the brackets around it.
EMAIL_MAX_CHARS = 254

validate_length = MaxLengthValidator(EMAIL_MAX_CHARS)


def check_email(email: str) -> None:
    """Raise ValidationError unless `email` is an email address that a row can hold. Pure."""
    validate_email(email)
    validate_length(email)


def after_change(person: User, former: str, by: User | None) -> None:
    """Tell `person`, also at their `former` address, that `by` (None: the directory) has changed it. Delete all
    addresses but the new one, because a former address must not sign in, and the invitations to spaces that were made
    for the new one before."""
    EmailAddress.objects.filter(user=person).exclude(email__iexact=person.email).delete()
    # They are for the person who had the address then.
    SpaceInvitation.objects.filter(email=person.email.lower()).delete()
    about = {"former": former, "email": person.email}
    if by is None:
        reason = Reason("people.address_changed_by_directory", about)
    else:
        reason = Reason("people.address_changed", {**about, "who": str(by)})
    notices.tell(person, reason, former=former)
