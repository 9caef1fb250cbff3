"""The choice of what a program may read and write: for the person's own memory, and for each of their spaces."""

from collections.abc import Iterator, Mapping
from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from oneclaw.models import ApiKey, Space, SpaceMember, SpaceRole, User
from oneclaw.people.programs.grants import Level, access_of, most_level

NOTHING = ""
LABELS = {
    Level.READ: _("Read"),
    Level.PROPOSE: _("Read, and save after your yes"),
    Level.WRITE: _("Read, and save without asking"),
}
PROPOSES_TO_SPACE = _("Read, and propose")
SPACE_PREFIX = "space_"


class AccessForm(forms.Form):
    """What one program may do; a space offers no more than its person may do there, and than the installation
    allows."""

    own = forms.ChoiceField(label=_("Your own memory"), required=False)
    conversations = forms.BooleanField(
        label=_("Also find what was said in past conversations"), required=False, initial=False
    )

    def __init__(self, user: User, *args: Any, access: Mapping[str, Any] | None = None, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        most = most_level()
        levels = [level for level in Level if most is not None and level <= most]
        own = self.fields["own"]
        assert isinstance(own, forms.ChoiceField)
        own.choices = [(NOTHING, _("Nothing")), *((level.name.lower(), LABELS[level]) for level in levels)]
        own.initial = access.get("own", NOTHING) if access else _name(min(Level.PROPOSE, most or Level.PROPOSE))
        self.fields["conversations"].initial = bool(access and access.get("conversations"))
        known = access.get("spaces", {}) if access else {}
        roles = SpaceRole.objects.filter(user=user).exclude(space__kind__in=Space.PRIVATE).select_related("space")
        for role in roles.order_by("space__name", "space"):
            offered = [level for level in levels if level <= _most_in(role)]
            self.fields[f"{SPACE_PREFIX}{role.space_id}"] = forms.ChoiceField(
                label=role.space.name,
                required=False,
                choices=[(NOTHING, _("Nothing")), *((_name(level), _label(level, role.space)) for level in offered)],
                initial=known.get(str(role.space_id), NOTHING),
            )
        # What is asked last concerns all of them.
        self.order_fields(["own", *self._space_fields(), "conversations"])

    def access(self) -> dict[str, Any]:
        """Return what `ApiKey.access` stores. Only for a valid form."""
        spaces = {int(name.removeprefix(SPACE_PREFIX)): self.cleaned_data[name] for name in self._space_fields()}
        return access_of(self.cleaned_data["own"], spaces, self.cleaned_data["conversations"])

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or {}
        if not self.errors and not any(cleaned.get(name) for name in ("own", *self._space_fields())):
            raise forms.ValidationError(_("Choose at least one memory that the program may read."))
        return cleaned

    def _space_fields(self) -> Iterator[str]:
        return (name for name in self.fields if name.startswith(SPACE_PREFIX))


class NewProgramForm(AccessForm):
    """The name of a program that gets a key, and what it may do."""

    name = forms.CharField(
        label=_("Name"),
        max_length=ApiKey.NAME_MAX_CHARS,
        help_text=_("Which program, and where it runs: “Claude Code, laptop”."),
        widget=forms.TextInput(attrs={"autocomplete": "off"}),
    )

    def __init__(self, user: User, *args: Any, **kwargs: Any) -> None:
        super().__init__(user, *args, **kwargs)
        self.order_fields(["name"])


def _name(level: Level) -> str:
    return level.name.lower()


def _label(level: Level, space: Space) -> Any:
    return PROPOSES_TO_SPACE if level == Level.PROPOSE and space.needs_second_person else LABELS[level]


def _most_in(role: SpaceRole) -> Level:
    if role.role not in SpaceMember.WRITERS:
        return Level.READ
    return Level.PROPOSE if role.space.needs_second_person else Level.WRITE
