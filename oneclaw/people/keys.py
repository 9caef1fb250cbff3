"""Keys of the API: with one, a program does in a person's name what the API offers, and nothing else.

key, token = make(user, "Backup", "year")      # the token is told once, and only its hash is kept
whose(token)                                   # the person; None for a key that opens nothing
"""

import datetime as dt
import hashlib
import secrets
from collections.abc import Mapping

from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from oneclaw.models import ApiKey, User
from oneclaw.text import Told

# By it people, and programs that look for what was given away by mistake, see what a key belongs to.
PREFIX = "oc_"
# Bytes of randomness in a token.
STRENGTH = 32
# Characters at its end by which a person knows it again.
ENDING = 4
# How long a key works; None: until it is revoked.
PERIODS: Mapping[str, dt.timedelta | None] = {
    "month": dt.timedelta(days=30),
    "quarter": dt.timedelta(days=90),
    "year": dt.timedelta(days=365),
    "never": None,
}
USUAL = "year"
# Keys that a person may have.
MOST = 50
# When a key was last used is written down this often.
NOTED_EVERY = dt.timedelta(minutes=1)


class TooManyKeysError(Told):
    """As many keys as a person can have."""

    words = _("You have reached the maximum number of keys. Revoke one first.")


def make(user: User, name: str, period: str) -> tuple[ApiKey, str]:
    """A key and its token. `period` is one of PERIODS. Raises TooManyKeysError."""
    lasts = PERIODS[period]
    if ApiKey.objects.visible_to(user).count() >= MOST:
        raise TooManyKeysError
    token, now = PREFIX + secrets.token_urlsafe(STRENGTH), timezone.now()
    key = ApiKey.objects.create(
        user=user,
        name=name,
        token_hash=hashed(token),
        ending=token[-ENDING:],
        created_at=now,
        expires_at=now + lasts if lasts else None,
    )
    return key, token


def whose(token: str) -> User | None:
    """The person whose key this is, if it still works; that it was used is noted."""
    key = ApiKey.objects.live().select_related("user").filter(token_hash=hashed(token)).first()
    if key is None:
        return None
    now = timezone.now()
    if key.last_used_at is None or key.last_used_at <= now - NOTED_EVERY:
        # Of several at the same moment one writes.
        before = Q(last_used_at=None) | Q(last_used_at__lte=now - NOTED_EVERY)
        ApiKey.objects.filter(before, pk=key.pk).update(last_used_at=now)
    return key.user


def revoke(user: User, key_id: int) -> None:
    """Delete this key of the person; one that is gone, or is somebody else's, is left alone."""
    ApiKey.objects.visible_to(user).filter(pk=key_id).delete()


def hashed(token: str) -> str:
    """SHA-256 in hexadecimal. Nobody guesses 256 random bits, so nothing slower is needed."""
    return hashlib.sha256(token.encode(errors="surrogatepass")).hexdigest()
