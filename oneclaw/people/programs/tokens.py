"""Find what a program may do by the token that it sends: of a key, or of its sign-in."""

from collections.abc import Collection

from oneclaw.models import ApiKey
from oneclaw.people import keys
from oneclaw.people.programs import signing_in
from oneclaw.people.programs.grants import Grant, most_level


def grant_of_any(token: str) -> Grant | None:
    """Return the grant of the program that sends `token`; None when it is not valid."""
    if token.startswith(keys.PREFIX):
        return keys.grant_of(token)
    key = signing_in.key_of_access_token(token)
    return keys.used(key) if key else None


def still_valid(key_ids: Collection[int]) -> set[int]:
    """Return those of these keys and sign-ins that have not ended; none while programs are switched off."""
    if most_level() is None:
        return set()
    return set(ApiKey.objects.live().filter(pk__in=key_ids).values_list("pk", flat=True))
