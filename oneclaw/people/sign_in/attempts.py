"""Limit wrong passwords for each account and each address of the network. Right ones are not limited.

A whole office may have one address, so that a success counts nothing, and the mistakes of one colleague hold back only
that colleague. Attempts at one account from many addresses, or at many accounts from one, reach the other two limits.
"""

import datetime as dt
import hashlib
import ipaddress

from django.db.models import Count, Q

from oneclaw.config.limits import SIGN_IN_WAIT_MINUTES
from oneclaw.models import SignInAttempt, clock

# Wrong passwords of one account from one address within SIGN_IN_WAIT_MINUTES.
PAIR_MAX_COUNT = 5
# Of one address, for any accounts, in the same time.
ADDRESS_MAX_COUNT = 60
# Of one account, from any addresses, within an hour: more than its owner mistypes, and nothing for a dictionary.
ACCOUNT_MAX_COUNT = 50
ACCOUNT_PERIOD = dt.timedelta(hours=1)
# The part of an IPv6 address that one subscriber has.
IPV6_PREFIX_BITS = 64
KEPT = dt.timedelta(days=1)


class TooManyAttemptsError(Exception):
    """There were too many wrong passwords; this one is not checked."""


def begin(email: str, address: str) -> SignInAttempt:
    """Record an attempt with `email` from `address` before its password is checked, and return it.

    Of attempts at the same time each sees the others, because each is recorded first. Raise TooManyAttemptsError when
    one of the limits is reached.
    """
    now = clock.database_now()
    attempt = SignInAttempt.objects.create(account=hashed(email), address=network_of(address), at=now)
    recent = Q(at__gt=now - dt.timedelta(minutes=SIGN_IN_WAIT_MINUTES))
    of_account, of_address = Q(account=attempt.account), Q(address=attempt.address)
    counts = SignInAttempt.objects.filter(of_account | of_address, at__gt=now - ACCOUNT_PERIOD).aggregate(
        pair=Count("pk", filter=of_account & of_address & recent),
        address=Count("pk", filter=of_address & recent),
        account=Count("pk", filter=of_account),
    )
    is_held = (
        counts["pair"] > PAIR_MAX_COUNT
        or counts["address"] > ADDRESS_MAX_COUNT
        or counts["account"] > ACCOUNT_MAX_COUNT
    )
    if is_held:
        # Waiting is enough: attempts during the wait do not make it longer.
        attempt.delete()
        raise TooManyAttemptsError
    return attempt


def succeed(attempt: SignInAttempt) -> None:
    """Forget `attempt`, whose password was right, earlier mistakes of the account at that address, and old rows."""
    pair = Q(account=attempt.account, address=attempt.address)
    SignInAttempt.objects.filter(pair | Q(at__lt=clock.database_now() - KEPT)).delete()


def hashed(email: str) -> str:
    """Return the hash of `email` for the rows. Pure."""
    return hashlib.sha256(email.strip().lower().encode()).hexdigest()


def network_of(address: str) -> str:
    """Return `address`; of IPv6 the network of its subscriber. Pure."""
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return address[:45]
    if parsed.version == 6:
        return str(ipaddress.ip_network(f"{parsed}/{IPV6_PREFIX_BITS}", strict=False).network_address)
    return str(parsed)
