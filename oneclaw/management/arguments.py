"""Find the person or the space that an argument of a command names."""

from django.core.management.base import CommandError
from django.db.models import QuerySet

from oneclaw.models import Space, User


def person(email: str) -> User:
    """Return the person with the address `email`. Raise CommandError if there is none."""
    found = User.objects.filter(email__iexact=email.strip()).first()
    if found is None:
        raise CommandError(f"There is no person with the address {email}.")
    return found


def space_named(name: str, user: User | None = None) -> Space:
    """Return the shared space with this number, or the only one with this name; with `user`, one that they are in.

    Raise CommandError.
    """
    spaces = Space.objects.shared().select_related("owner")
    if user is not None:
        spaces = spaces.visible_to(user)
    if name.isascii() and name.isdigit() and (found := spaces.filter(pk=name[:18]).first()):
        return found
    named = list(spaces.filter(name__iexact=name.strip())[:2])
    if not named:
        raise CommandError(f"There is no space {name}.")
    if len(named) > 1:
        raise CommandError(f"Several spaces are called {name}: give the number, which `space list` shows.")
    return named[0]


def space_or_own(user: User, space: Space | None, allowed: QuerySet[Space] | None = None) -> Space:
    """Return the space, or the own one of `user` without any. Raise CommandError when it is none of `allowed`."""
    found = space or Space.objects.own_of(user)
    if allowed is not None and not allowed.filter(pk=found.pk).exists():
        raise CommandError(f"{user} may read “{found.name}”, and not do this.")
    return found
