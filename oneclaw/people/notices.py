"""Tell a person what others have done about their account or conversations: on their next page, and by mail.

    tell(ada, Reason("people.password_reset"))

A notice stays on every page until the person dismisses it. One that says that another person may have been in the
account stays for KEPT_DAYS, because who was in it could dismiss it.
"""

import datetime as dt
import logging
from collections.abc import Iterable, Sequence
from functools import partial
from typing import TypedDict

from django.conf import settings
from django.core.mail import send_mail
from django.db import transaction
from django.utils import timezone, translation
from django.utils.translation import gettext as _

from oneclaw.models import User
from oneclaw.reasons import Reason

logger = logging.getLogger(__name__)

KEPT_DAYS = 14
# Notices that a person has at most, besides those that stay for some days; the oldest go first.
MAX_NOTICES = 20


class StoredNotice(TypedDict):
    """A notice in `User.notices`: the reason as JSON, when it was made, and until when it cannot be dismissed."""

    reason: dict[str, object]
    at: str
    kept_until: str


@transaction.atomic
def tell(person: User, reason: Reason, *, kept: bool = False, by_mail: bool = True, former: str = "") -> None:
    """Store a notice for `person`, and mail it where there is a mail server, also to their `former` address."""
    row = User.objects.select_for_update(no_key=True).get(pk=person.pk)
    now = timezone.now()
    until = (now + dt.timedelta(days=KEPT_DAYS)).isoformat() if kept else ""
    made: StoredNotice = {"reason": reason.as_json, "at": now.isoformat(), "kept_until": until}
    row.notices = newest([*row.notices, made], now)
    row.save(update_fields=["notices"])
    person.notices = row.notices
    if by_mail:
        mail(person, reason, former)


def mail(person: User, reason: Reason, former: str = "") -> None:
    """Mail the sentence of `reason` to `person`, also to a `former` address, after the commit, where there is a mail
    server."""
    if not settings.MAIL:
        return
    with translation.override(person.language or settings.LANGUAGE_CODE):
        text = f"{reason}\n\n{_('If you did not expect this, tell your administrator.')}"
        subject = _("Your OneClaw account")
    for email in filter(None, (person.email, former)):
        transaction.on_commit(partial(_send, subject, text, email))


def _send(subject: str, text: str, email: str) -> None:
    try:
        send_mail(subject, text, None, [email])
    except OSError:
        # The notice stands on the page all the same.
        logger.warning("A notice could not be mailed.", exc_info=True)


def sentences(person: User) -> list[str]:
    """Return what `person` has not dismissed yet, oldest first."""
    found = (Reason.of(each["reason"]) for each in person.notices)
    return [str(reason) for reason in found if reason is not None]


@transaction.atomic
def dismiss(person: User) -> None:
    """Remove the notices of `person` but those that stay for some days."""
    row = User.objects.select_for_update(no_key=True).get(pk=person.pk)
    row.notices = list(still_kept(row.notices, timezone.now()))
    row.save(update_fields=["notices"])


def newest(notices: Sequence[StoredNotice], now: dt.datetime) -> list[StoredNotice]:
    """Return the newest MAX_NOTICES of `notices`, and those that cannot be dismissed at `now`: others cannot push one
    of these out by many of their own. Pure."""
    kept = [each["at"] for each in still_kept(notices, now)]
    first = len(notices) - MAX_NOTICES
    return [each for number, each in enumerate(notices) if number >= first or each["at"] in kept]


def still_kept(notices: Iterable[StoredNotice], now: dt.datetime) -> Iterable[StoredNotice]:
    """Return those of `notices` that cannot be dismissed at `now`. Pure."""
    return (each for each in notices if each["kept_until"] and dt.datetime.fromisoformat(each["kept_until"]) > now)
