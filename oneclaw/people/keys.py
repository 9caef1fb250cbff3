"""API keys: make one, find what its token may do, and revoke it. A key gives access to the API and to /mcp only.

key, token = make(user, "Backup", "year")      # the token is shown once; only its hash is stored
grant_of(token)                                # what it may do, and for whom; None when the key is not valid
"""

import datetime as dt
import hashlib
import secrets
from collections.abc import Mapping
from typing import Any

from django.db import transaction
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from oneclaw.audit.record import record
from oneclaw.models import ApiKey, AuditKind, User
from oneclaw.people import seen
from oneclaw.people.programs.grants import Grant
from oneclaw.people.programs.signing_in import end_tokens
from oneclaw.text import UserFacingError

# By it people and secret scanners recognise a token of OneClaw.
PREFIX = "oc_"
# Random bytes of a token.
TOKEN_BYTES = 32
# The end of a token, which is stored so that its owner recognises it.
ENDING_CHARS = 4
# How long a key is valid; None: until it is revoked.
PERIODS: Mapping[str, dt.timedelta | None] = {
    "month": dt.timedelta(days=30),
    "quarter": dt.timedelta(days=90),
    "year": dt.timedelta(days=365),
    "never": None,
}
DEFAULT_PERIOD = "year"
# Keys that a person may have.
MAX_KEYS = 50
# The time of last use is written at most this often.
LAST_USED_INTERVAL = dt.timedelta(minutes=1)


class TooManyKeysError(UserFacingError):
    """The person has the maximum number of keys."""

    wording = _("You have reached the maximum number of keys. Revoke one first.")


def make(user: User, name: str, period: str, access: Mapping[str, Any] | None = None) -> tuple[ApiKey, str]:
    """Make a key for `user` and return it with its token; `period` is a key of PERIODS, `access` what of memory it may
    read and write (oneclaw/people/programs/grants.py), None: everything.

    Raise TooManyKeysError when the person has MAX_KEYS.
    """
    validity = PERIODS[period]
    if ApiKey.objects.visible_to(user).count() >= MAX_KEYS:
        raise TooManyKeysError
    token, now = PREFIX + secrets.token_urlsafe(TOKEN_BYTES), timezone.now()
    with transaction.atomic():
        key = ApiKey.objects.create(
            user=user,
            name=name,
            token_hash=hashed(token),
            ending=token[-ENDING_CHARS:],
            access=access,
            created_at=now,
            expires_at=now + validity if validity else None,
        )
        record(AuditKind.KEY_MADE, actor=user, key=key.pk, period=period, whole=access is None)
    return key, token


def grant_of(token: str) -> Grant | None:
    """Return what a program with this token may do, and record that it and its person were here; None when the key is
    not valid."""
    key = ApiKey.objects.live().select_related("user").filter(token_hash=hashed(token)).first()
    return used(key) if key else None


def used(key: ApiKey) -> Grant:
    """Return what the program with the valid `key` may do, and record that it and its person were here."""
    now = timezone.now()
    if key.last_used_at is None or key.last_used_at <= now - LAST_USED_INTERVAL:
        # Of several concurrent requests, one writes.
        before = Q(last_used_at=None) | Q(last_used_at__lte=now - LAST_USED_INTERVAL)
        ApiKey.objects.filter(before, pk=key.pk).update(last_used_at=now)
    if seen.is_due(key.user):
        seen.record_seen(key.user)
    return Grant.of(key)


@transaction.atomic
def revoke(user: User, key_id: int) -> None:
    """Delete the key or sign-in `key_id` of `user`; do nothing when it does not exist or belongs to another person."""
    key = ApiKey.objects.visible_to(user).filter(pk=key_id).first()
    if key is not None:
        end_tokens(key)
        key.delete()
        record(AuditKind.KEY_REVOKED, actor=user, key=key_id)


@transaction.atomic
def end_all(person: User, actor: User | None = None) -> int:
    """Delete all keys of `person` and sign-ins of their programs, for good, and return how many there were; `actor` is
    another one who does it."""
    ended = list(ApiKey.objects.visible_to(person))
    for key in ended:
        end_tokens(key)
        key.delete()
    count = len(ended)
    if count:
        record(AuditKind.KEY_REVOKED, actor=actor or person, person=person, keys=count)
    return count


def hashed(token: str) -> str:
    """Return the SHA-256 of `token` in hexadecimal. A token has 256 random bits, so a fast hash is enough."""
    return hashlib.sha256(token.encode(errors="surrogatepass")).hexdigest()
