"""The names of spaces for those who keep people and rules, or read usage and the audit log: while curation is closed,
only of the spaces they are in."""

from collections.abc import Iterable
from dataclasses import dataclass

from django.utils.translation import gettext as _

from oneclaw import runtime_settings
from oneclaw.models import Space, User


@dataclass(frozen=True)
class SpaceNames:
    """Which names one reader is shown; the other spaces have a number."""

    # The spaces whose names are shown; None: all.
    known: frozenset[int] | None

    @classmethod
    def for_reader(cls, reader: User) -> "SpaceNames":
        """Return the names that `reader` is shown now."""
        if runtime_settings.value("curation") != "closed":
            return cls(None)
        return cls(frozenset(Space.objects.visible_to(reader).values_list("pk", flat=True)))

    def of(self, space: Space) -> str:
        """Return the name of `space`, or its number."""
        return self.of_row(space.pk, space.name)

    def of_row(self, space_id: int, name: str) -> str:
        """Return `name`, that of the space with this id, or its number."""
        if self.known is None or space_id in self.known:
            return name
        return _("Space %(number)d") % {"number": space_id}

    def of_all(self, spaces: Iterable[Space]) -> list[str]:
        """Return the names of `spaces`."""
        return [self.of(space) for space in spaces]
