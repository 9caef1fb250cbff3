"""Legal holds: what they prevent, and who sets and ends them."""

from collections.abc import Iterable

from django.db import transaction
from django.db.models import Q, QuerySet
from django.utils.translation import gettext_lazy as _

from oneclaw.audit.record import record
from oneclaw.models import AuditKind, LegalHold, Space, User, clock
from oneclaw.text import UserFacingError


class HeldError(UserFacingError):
    """A legal hold keeps what was to be removed."""

    wording = _("Nothing of this may be removed at present: an administrator has ordered that it is kept.")


def held_people() -> QuerySet[LegalHold, int | None]:
    """Return the ids of the people of whom nothing may be removed, for a query."""
    return LegalHold.objects.filter(ended_at=None, user__isnull=False).values_list("user_id", flat=True)


def held_spaces() -> QuerySet[LegalHold, int | None]:
    """Return the ids of the spaces of which nothing may be removed, for a query."""
    return LegalHold.objects.filter(ended_at=None, space__isnull=False).values_list("space_id", flat=True)


def of_held_spaces(space: str) -> Q:
    """Return the rows whose space, in the column `space`, is held, or is private and its owner is."""
    of_people = {f"{space}__kind__in": Space.PRIVATE, f"{space}__owner__in": held_people()}
    return Q(**{f"{space}__in": held_spaces()}) | Q(**of_people)


def is_held(user_id: int) -> bool:
    """Return whether nothing of the person may be removed."""
    return LegalHold.objects.filter(user=user_id, ended_at=None).exists()


def refuse_if_held(*, people: Iterable[User] = (), spaces: Iterable[Space] = ()) -> None:
    """Raise HeldError when one of the people or spaces is held; a space also when it is private and its owner is."""
    spaces = list(spaces)
    of_people = Q(user__in=[*people, *(space.owner_id for space in spaces if space.is_private)])
    if LegalHold.objects.filter(of_people | Q(space__in=spaces), ended_at=None).exists():
        raise HeldError


@transaction.atomic
def hold(by: User | None, reason: str, *, person: User | None = None, space: Space | None = None) -> LegalHold:
    """Keep everything of `person`, or of `space`, from now on; a hold that is there already gets the new reason."""
    found, is_new = LegalHold.objects.update_or_create(
        user=person,
        space=space,
        ended_at=None,
        defaults={"reason": reason[:300]},
        create_defaults={
            "reason": reason[:300],
            "made_by": by,
        },
    )
    record(AuditKind.HOLD_SET, actor=by, person=person, space=space, hold=found.pk, again=not is_new)
    return found


@transaction.atomic
def end(by: User | None, hold_id: int) -> bool:
    """End a hold, and return whether there was one."""
    found = LegalHold.objects.select_for_update(of=("self",)).filter(pk=hold_id, ended_at=None).first()
    if found is None:
        return False
    LegalHold.objects.filter(pk=hold_id).update(ended_at=clock.database_now())
    record(AuditKind.HOLD_ENDED, actor=by, person=found.user, space=found.space, hold=hold_id)
    return True
