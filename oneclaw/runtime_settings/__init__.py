"""The settings that owners change on a page, without a restart.

    value("sign_up")        # "closed"

A variable of the environment wins. Each process reads the rows at most once in KNOWN_SECONDS, so that all of them have
a change within seconds; web processes have it at once, by a hint.
"""

import hashlib
import os
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from django.conf import settings
from django.db import transaction
from django.utils.translation import gettext_lazy as _

from oneclaw import pubsub
from oneclaw.audit.record import record
from oneclaw.models import AuditKind, RuntimeSetting, User
from oneclaw.text import StrOrPromise, UserFacingError

# How long a process believes what it has read.
KNOWN_SECONDS = 3.0
# Of the hints that a row has changed.
TOPIC = "settings"
TEXT_MAX_CHARS = 500


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
# What was read last, and until when by the monotonic clock it is believed.
_known: tuple[float, dict[str, str]] = (0.0, {})


class NotChangeableError(UserFacingError):
    """The environment decides this setting, or the value is not one of its choices."""

    wording = _("This setting cannot be changed so.")


def value(name: str) -> str:
    """Return the value of the setting `name`. Sync, because it may read the rows."""
    declared = DECLARED[name]
    if declared.fixed_by:
        return declared.default
    return stored().get(name, declared.default)


def stored() -> dict[str, str]:
    """Return the values that have rows, read at most KNOWN_SECONDS ago."""
    global _known
    until, values = _known
    if time.monotonic() >= until:
        values = dict(RuntimeSetting.objects.values_list("name", "value"))
        _known = time.monotonic() + KNOWN_SECONDS, values
    return values


def follow() -> None:
    """Read the rows again after each hint that they have changed, as long as the running event loop runs."""
    pubsub.subscribe(TOPIC, lambda _: forget())


def forget() -> None:
    """Read the rows again when a value is needed next."""
    global _known
    _known = 0.0, {}


@transaction.atomic
def change(actor: User, name: str, new: str) -> None:
    """Set the setting `name` to `new` for all processes. Raise NotChangeableError."""
    declared, new = DECLARED[name], new.strip()
    if declared.fixed_by or len(new) > TEXT_MAX_CHARS or (declared.choices and new not in declared.choices):
        raise NotChangeableError
    before = value(name)
    if before == new:
        return
    RuntimeSetting.objects.update_or_create(name=name, defaults={"value": new, "changed_by": actor})
    # The audit log has no text that a person wrote.
    words: dict[str, Any] = {"before": before, "now": new} if declared.choices else {"now": "set" if new else "none"}
    record(AuditKind.SETTING_CHANGED, actor=actor, setting=name, **words)
    pubsub.notify(TOPIC, pubsub.MISSED)
    transaction.on_commit(forget)


def fingerprint(text: str) -> str:
    """Return by what the row of a person remembers that they have dismissed `text`."""
    return hashlib.sha256(text.encode()).hexdigest()[:16]
