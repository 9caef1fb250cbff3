"""Delete a space: plan what goes, then remove it.

Each app says what of a space is its own (SpacePart in oneclaw/domains.py). The plan asks all of them for numbers; the
deletion asks all of them to remove their rows, in one transaction, before the space itself goes.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass

from django.db import transaction
from django.utils.translation import gettext_lazy as _

from oneclaw import domains
from oneclaw.audit import holds
from oneclaw.domains import SpacePart
from oneclaw.models import Space, User
from oneclaw.reasons import Reason
from oneclaw.spaces.members import lock
from oneclaw.text import UserFacingError


class ChangedPlanError(UserFacingError):
    """The space holds something else than the plan said."""

    wording = _("The space has changed since. Look again at what would go.")


@dataclass(frozen=True)
class DeletionPlan:
    """What would go with a space: {code: number}, without zeros."""

    counts: Mapping[str, int]

    @property
    def reasons(self) -> list[Reason]:
        """Return one reason for each number, whose sentence says what becomes of it."""
        return [Reason(f"space.goes.{code}", {"number": number}) for code, number in self.counts.items()]

    @property
    def digest(self) -> str:
        """Return a text that identifies the plan."""
        return hashlib.sha256(json.dumps(dict(self.counts), sort_keys=True).encode()).hexdigest()[:16]


def plan(space: Space) -> DeletionPlan:
    """Return what would go with `space`."""
    counts = {"members": space.members.count(), "groups": space.groups.count()}
    for part in _parts():
        counts |= part.counts(space)
    return DeletionPlan({code: number for code, number in counts.items() if number})


def refuse_if_held(space: Space) -> None:
    """Raise HeldError when a legal hold keeps `space`, or a person of whom something would go with it."""
    holds.refuse_if_held(spaces=[space])
    held = User.objects.filter(pk__in=holds.held_people())
    if any(held.filter(part.writers(space)).exists() for part in _parts()):
        raise holds.HeldError


@transaction.atomic
def delete(space: Space, by: User | None = None, digest: str | None = None) -> DeletionPlan:
    """Delete the shared space with all that the plan names, and return the plan.

    Raise SpaceNotFoundError when there is no such space, or `by` does not own it; ChangedPlanError when `digest` is
    that of another plan; HeldError when a legal hold keeps it.
    """
    space = lock(space, by)
    refuse_if_held(space)
    found = plan(space)
    if digest is not None and digest != found.digest:
        raise ChangedPlanError
    for part in _parts():
        part.remove(space)
    space.delete()
    return found


def _parts() -> list[SpacePart]:
    return [each.space for each in domains.registered() if each.space]
