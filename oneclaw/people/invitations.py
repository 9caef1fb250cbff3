"""One-time links for people who choose a password. Also the timezone of the browser at sign-in."""

import contextlib
from typing import Any

from django.conf import settings
from django.contrib import messages
from django.contrib.auth.signals import user_logged_in
from django.contrib.auth.tokens import default_token_generator
from django.core import signing
from django.db import connection, transaction
from django.dispatch import receiver
from django.http import HttpRequest
from django.urls import reverse
from django.utils.encoding import force_bytes, force_str
from django.utils.http import urlsafe_base64_decode, urlsafe_base64_encode
from django.utils.translation import gettext as _

from oneclaw import zones
from oneclaw.models import User

# The salt with which the first account's link is signed.
FIRST_ACCOUNT = "oneclaw.first_account"


def base_url() -> str:
    """Return where people open the page: the first of ONECLAW_ORIGINS, or the local address.

    The last start has stored that address for commands without its PORT.
    """
    if settings.ORIGINS:
        return settings.ORIGINS[0]
    with contextlib.suppress(OSError):
        return settings.ADDRESS_FILE.read_text().strip()
    return f"http://127.0.0.1:{settings.PORT}"


def invitation_link(user: User, base: str = "") -> str:
    """Return a link with which `user` chooses a password, once, within INVITATION_DAYS.

    The token ends with the first password or sign-in, because both are part of what it signs.
    """
    uid = urlsafe_base64_encode(force_bytes(user.pk))
    return (base or base_url()) + reverse("welcome", args=[uid, default_token_generator.make_token(user)])


def invited_user(uid: str, token: str, *, lock: bool = False) -> User | None:
    """Check an invitation link and return the person whom it is for; None when it is not valid or no longer.

    With `lock`, the row stays locked until the end of the transaction.
    """
    people = User.objects.select_for_update() if lock else User.objects.all()
    try:
        user = people.get(pk=int(force_str(urlsafe_base64_decode(uid))), is_active=True)
    except (ValueError, OverflowError, User.DoesNotExist):
        return None
    return user if default_token_generator.check_token(user, token) else None


def first_account_link(base: str = "") -> str | None:
    """Return the link that makes the first account; None when an account exists."""
    if User.objects.exists():
        return None
    token = signing.dumps("first", salt=FIRST_ACCOUNT)
    return (base or base_url()) + reverse("first_account", args=[token])


def first_account_open(token: str) -> bool:
    """Return whether a first account may be made with `token`: it is valid and recent, and there is no account yet."""
    try:
        signing.loads(token, salt=FIRST_ACCOUNT, max_age=settings.INVITATION_DAYS * 86_400)
    except signing.BadSignature:
        return False
    return not User.objects.exists()


@transaction.atomic
def create_first_account(**fields: Any) -> User | None:
    """Create the first person, an administrator; return None when an account exists already."""
    with connection.cursor() as cursor:
        cursor.execute(f"LOCK TABLE {User._meta.db_table} IN SHARE ROW EXCLUSIVE MODE")
    if User.objects.exists():
        return None
    return User.objects.create_superuser(**fields)


@receiver(user_logged_in)
def save_browser_timezone(sender: object, request: HttpRequest, user: User, **kwargs: object) -> None:
    """Set the person's timezone from the browser at their first sign-in; say so when a later one has another, or when
    it is not known here."""
    name = request.POST.get("timezone", "")
    is_chosen = user.timezone_chosen or user.timezone != User._meta.get_field("timezone").default
    if not name or (is_chosen and (not zones.is_known(name) or zones.are_one(name, user.timezone))):
        return
    if not zones.is_known(name):
        sentence = _(
            "The timezone {here} of this device is unknown. Choose yours in the settings: until then it is UTC."
        )
        messages.warning(request, sentence.format(here=name[: User._meta.get_field("timezone").max_length]))
        return
    if is_chosen:
        sentence = _("Your timezone is still {yours}; this device is in {here}. You can change it in the settings.")
        messages.info(request, sentence.format(yours=user.timezone, here=name))
        return
    user.timezone, user.timezone_chosen = name, True
    user.save(update_fields=["timezone", "timezone_chosen"])
