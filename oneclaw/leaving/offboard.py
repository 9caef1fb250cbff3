"""Remove a person: hand over what others share, remove the rest, and keep a receipt of counts and hashes.

    found = plan(grace)                         # changes nothing
    job = begin(grace, receiver=ada, by=ada)    # grace is signed out everywhere, and cannot sign in any more
    run(job.pk)                                 # any worker, again after a crash

Each step commits by itself and may be done twice; the account goes last, together with the end of the job.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field

from allauth.usersessions.models import UserSession
from django.db import IntegrityError, transaction
from django.utils.translation import gettext_lazy as _

from oneclaw import domains
from oneclaw.audit import holds
from oneclaw.audit.record import record
from oneclaw.domains import PersonPart
from oneclaw.leaving import account, shared_spaces
from oneclaw.models import AuditKind, Offboarding, Space, User
from oneclaw.people import roles
from oneclaw.reasons import Reason
from oneclaw.spaces import deletion
from oneclaw.spaces.names import SpaceNames
from oneclaw.tasks import hint
from oneclaw.text import UserFacingError


class OffboardingError(UserFacingError):
    """Why a person cannot be removed."""


class LastOwnerLeavesError(OffboardingError):
    """The installation would be left without an owner."""

    wording = _("This is the only owner. Make somebody else an owner first.")


class NoReceiverError(OffboardingError):
    """Another person must get the spaces that only this person owns."""

    wording = _("Say who gets the spaces that only this person owns: %(names)s.")


class WrongReceiverError(OffboardingError):
    """The receiver cannot get anything."""

    wording = _("The receiver must be another person with an active account.")


class OwnReceiverError(OffboardingError):
    """Who manages people may not give themselves the spaces of others."""

    wording = _("You cannot be the receiver yourself. Name another person, or ask an owner of OneClaw.")


class LeavingPlanChangedError(OffboardingError):
    """What would go is not what was shown."""

    wording = _("What goes with this person has changed since the page was shown. Read it again.")


class AlreadyLeavingError(OffboardingError):
    """The removal has begun."""

    wording = _("This account is being removed already.")


@dataclass(frozen=True)
class LeavingPlan:
    """What the removal of a person concerns: {code: number} without zeros, and the spaces that only they own."""

    counts: Mapping[str, int]
    hashes: Mapping[str, str] = field(default_factory=dict)
    spaces: list[Space] = field(default_factory=list)

    @property
    def digest(self) -> str:
        """Return the SHA-256 of the plan: a yes to it is a yes to nothing else."""
        spaces = sorted(space.pk for space in self.spaces)
        contents = json.dumps([dict(self.counts), dict(self.hashes), spaces], sort_keys=True)
        return hashlib.sha256(contents.encode()).hexdigest()

    @property
    def reasons(self) -> list[Reason]:
        """Return one reason for each number, whose sentence says what becomes of it."""
        return [Reason(f"leaving.{code}", {"number": number}) for code, number in self.counts.items()]


def plan(person: User) -> LeavingPlan:
    """Return what the removal of `person` concerns."""
    counts: dict[str, int] = {}
    hashes: dict[str, str] = {}
    for part in _parts():
        counts |= part.counts(person)
        hashes |= part.hashes(person)
    alone = shared_spaces.owned_alone(person)
    counts |= account.counts(person)
    counts["spaces"] = len(alone)
    return LeavingPlan({code: number for code, number in counts.items() if number}, hashes, alone)


@transaction.atomic
def begin(
    person: User,
    *,
    receiver: User | None = None,
    by: User | None = None,
    choices: Mapping[str, str] | None = None,
    digest: str | None = None,
) -> Offboarding:
    """Shut the account of `person` at once, and store the job that removes it.

    `by` is who asks for it, unless that is the person. `choices` are those of Offboarding. `digest` is that of the plan
    that they were shown; None for a command, which shows none. Raise OffboardingError or HeldError when it is refused.
    """
    choices = dict(choices or {})
    owners = set(User.objects.owners().select_for_update().values_list("pk", flat=True))
    person = User.objects.select_for_update(no_key=True).get(pk=person.pk)
    if owners == {person.pk}:
        raise LastOwnerLeavesError
    alone = shared_spaces.owned_alone(person)
    refuse_if_held(person)
    for space in alone:
        if choices.get(str(space.pk)) == shared_spaces.DELETE:
            deletion.refuse_if_held(space)
    if receiver is not None and (receiver.pk == person.pk or not receiver.is_active):
        raise WrongReceiverError
    if by is not None and receiver == by and not by.has_perm(roles.GRANT_ROLES):
        raise OwnReceiverError
    open_spaces = [space for space in alone if str(space.pk) not in choices]
    if receiver is None and open_spaces:
        names = SpaceNames.for_reader(by) if by is not None else SpaceNames(None)
        raise NoReceiverError(names=", ".join(names.of_all(open_spaces)))
    found = plan(person)
    if digest is not None and digest != found.digest:
        raise LeavingPlanChangedError
    try:
        with transaction.atomic():
            job = Offboarding.objects.create(
                owner=by,
                person=person.pk,
                receiver=receiver.pk if receiver else None,
                choices=choices,
                counts=dict(found.counts),
                hashes=dict(found.hashes),
            )
    except IntegrityError:
        raise AlreadyLeavingError from None
    person.is_active = False
    person.save(update_fields=["is_active"])
    person.api_keys.all().delete()
    for sign_in in UserSession.objects.filter(user=person):
        sign_in.end()
    record(AuditKind.PERSON_LEAVES, actor=by or person, person=person, offboarding=job.pk)
    hint(Offboarding.TASK, job.pk)
    return job


def refuse_if_held(person: User) -> None:
    """Raise HeldError when a legal hold keeps something that would go with `person`: theirs, or of a shared space."""
    private = Space.objects.filter(owner=person, kind__in=Space.PRIVATE)
    shared = [space for part in _parts() for space in part.spaces(person)]
    holds.refuse_if_held(people=[person], spaces=[*private, *shared])


def run(job_id: int) -> bool:
    """Do the job if it is due and not claimed by another worker; return whether the person is gone."""
    job = Offboarding.objects.claim(job_id)
    if job is None:
        return Offboarding.objects.finished().filter(pk=job_id).exists()
    # Each app removes its own part, and any bug or fault in one must not leave an account half removed: the job stays
    # due, and its row says why, without what the error may quote.
    with job.attempt(faults=(Exception,), put_back=lambda error: job.postpone(type(error).__name__)), job.renewals():
        _remove(job)
        return True
    return False


def _remove(job: Offboarding) -> None:
    person = User.objects.filter(pk=job.person).first()
    if person is None:
        job.finish()
        return
    # One that was set since stops the rest.
    refuse_if_held(person)
    receiver = User.objects.filter(pk=job.receiver or 0, is_active=True).first()
    shared_spaces.hand_over(person, receiver, job.choices)
    for part in _parts():
        part.hand_over(person, receiver)
    for part in _parts():
        part.remove(person, job.renew)
    with transaction.atomic():
        record(
            AuditKind.PERSON_REMOVED,
            actor=job.owner,
            person=person,
            offboarding=job.pk,
            counts=job.counts,
            hashes=job.hashes,
        )
        account.remove(person)
        job.finish()


def _parts() -> list[PersonPart]:
    return [each.person for each in domains.registered() if each.person]
