"""Make, change, archive and unarchive spaces."""

from dataclasses import dataclass

from django.conf import settings
from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from oneclaw.audit.record import record
from oneclaw.models import AuditKind, Space, SpaceMember, User
from oneclaw.text import InvalidTextError, UserFacingError, validated_text

NAME_MAX_CHARS = 80
DESCRIPTION_MAX_CHARS = 500
# The colours of the palette in static/css/spaces.css; 0 is none.
COLOURS = range(9)
SHARED_KINDS = (Space.Kind.PROJECT, Space.Kind.TEAM)


class SpaceNotFoundError(LookupError):
    """The space does not exist, or the person does not have the role that the act needs."""


class MayNotMakeSpacesError(UserFacingError):
    """Only administrators make spaces on this server."""

    wording = _("Only administrators make spaces on this server. Ask yours for one.")


@dataclass(frozen=True)
class SpaceDraft:
    """What a person writes about a space, checked by `checked_draft`."""

    name: str
    description: str = ""
    colour: int = 0
    kind: str = Space.Kind.PROJECT
    needs_second_person: bool = False
    links_for_everybody: bool = False


def may_make_spaces(user: User) -> bool:
    """Return whether `user` may make spaces (ONECLAW_SPACES)."""
    return settings.SPACES == "everybody" or user.is_staff


def checked_draft(
    name: object,
    description: object = "",
    colour: object = 0,
    kind: object = Space.Kind.PROJECT,
    needs_second_person: bool = False,
    links_for_everybody: bool = False,
) -> SpaceDraft:
    """Return the draft of a space from values of a form or a program. Raise InvalidTextError."""
    title = " ".join(validated_text(name, max_chars=NAME_MAX_CHARS, name=_("The name")).split())
    about = validated_text(
        description, max_chars=DESCRIPTION_MAX_CHARS, name=_("The description"), may_be_blank=True
    ).strip()
    if str(colour) not in map(str, COLOURS):
        raise InvalidTextError("invalid", _("There is no such color."))
    if kind not in SHARED_KINDS:
        raise InvalidTextError("invalid", _("A space is a project or a team."))
    return SpaceDraft(title, about, int(str(colour)), str(kind), needs_second_person, links_for_everybody)


@transaction.atomic
def create(user: User, draft: SpaceDraft) -> Space:
    """Make a shared space that `user` owns. The caller checks `may_make_spaces`."""
    space = Space.objects.create(
        owner=user,
        kind=draft.kind,
        name=draft.name,
        description=draft.description,
        colour=draft.colour,
        needs_second_person=draft.needs_second_person,
        links_for_everybody=draft.links_for_everybody,
    )
    SpaceMember.objects.create(space=space, user=user, role=SpaceMember.Role.OWNER)
    return space


def update(space: Space, draft: SpaceDraft) -> None:
    """Change what the space says about itself."""
    space.name, space.description, space.colour = draft.name, draft.description, draft.colour
    space.kind, space.needs_second_person = draft.kind, draft.needs_second_person
    space.links_for_everybody = draft.links_for_everybody
    fields = ["name", "description", "colour", "kind", "needs_second_person", "links_for_everybody"]
    space.save(update_fields=fields)


@transaction.atomic
def archive(space: Space) -> None:
    """Archive the space: it can be read and searched, and nothing in it changes."""
    if Space.objects.shared().filter(pk=space.pk, archived_at=None).update(archived_at=timezone.now()):
        record(AuditKind.SPACE_CHANGED, space=space, archived=True)


@transaction.atomic
def unarchive(space: Space) -> None:
    """Bring an archived space back."""
    Space.objects.filter(pk=space.pk).update(archived_at=None)
    record(AuditKind.SPACE_CHANGED, space=space, archived=False)
