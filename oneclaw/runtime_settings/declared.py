"""What a setting is that owners change on a page, and those that are texts or choices."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from django.conf import settings
from django.utils.translation import gettext_lazy as _

from oneclaw.text import StrOrPromise, UserFacingError

TEXT_MAX_CHARS = 500


class NotChangeableError(UserFacingError):
    """The environment decides this setting, or the value is not one of its choices."""

    wording = _("This setting cannot be changed so.")


@dataclass(frozen=True)
class Declared:
    """A setting: its variable in the environment and its name in Django's settings, if it has them."""

    name: str
    title: StrOrPromise
    help: StrOrPromise = ""
    variables: tuple[str, ...] = ()
    default_from: str = ""
    # What it may be; empty: a text.
    choices: Mapping[str, StrOrPromise] = field(default_factory=dict)

    @property
    def fixed_by(self) -> str:
        """Return the variable of the environment that decides it; "" when none does."""
        return next((name for name in self.variables if os.environ.get(name, "").strip()), "")

    @property
    def default(self) -> str:
        return str(getattr(settings, self.default_from)) if self.default_from else ""

    def checked(self, text: str) -> str:
        """Return `text` as it is stored. Raise NotChangeableError when the setting cannot be that."""
        text = text.strip()
        if len(text) > TEXT_MAX_CHARS or (self.choices and text not in self.choices):
            raise NotChangeableError
        return text

    def recorded(self, before: str, now: str) -> dict[str, Any]:
        """Return what the audit log says of a change. It has no text that a person wrote."""
        return {"before": before, "now": now} if self.choices else {"now": "set" if now else "none"}


DECLARED = {
    each.name: each
    for each in (
        Declared(
            "sign_up",
            _("Who may create an account"),
            variables=("ONECLAW_SIGN_UP", "ONECLAW_SIGNUP_OPEN"),
            default_from="SIGN_UP",
            choices={
                "closed": _("Only who is invited"),
                "approval": _("Everybody, after approval"),
                "open": _("Everybody"),
            },
        ),
        Declared(
            "curation",
            _("Memory of others for administrators"),
            variables=("ONECLAW_CURATION",),
            default_from="CURATION",
            choices={
                "recorded": _("Opens; each look is recorded"),
                "reason": _("Opens for an hour, with a reason"),
                "closed": _("Stays closed"),
            },
        ),
        Declared(
            "programs",
            _("Memory for programs"),
            _("What programs of people may do with memory, with a key or through /mcp. A grant can say less."),
            variables=("ONECLAW_PROGRAMS",),
            default_from="PROGRAMS",
            choices={
                "off": _("Nothing"),
                "read": _("Read"),
                "propose": _("Read; what they save waits for a yes"),
                "write": _("Read, and save without asking"),
            },
        ),
        Declared("announcement", _("Announcement"), _("Everybody sees it above each page until they dismiss it.")),
        Declared(
            "maintenance",
            _("Maintenance"),
            _(
                "While there is a text, only owners can send messages; running answers end normally. "
                "Say why, and when it ends."
            ),
        ),
    )
}
