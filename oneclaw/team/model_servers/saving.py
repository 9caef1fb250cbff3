"""Add, change and remove the rows of model servers, each with an event of the audit log."""

from collections.abc import Mapping, Sequence
from typing import Any

from django.conf import settings
from django.db import IntegrityError, transaction
from django.utils.translation import gettext_lazy as _

from oneclaw.audit.record import record
from oneclaw.llm.upstreams import servers
from oneclaw.models import AuditKind, Group, ModelRule, ModelServer, User
from oneclaw.team import model_rules
from oneclaw.text import UserFacingError

SERVERS_MAX_COUNT = 50
# The fields of a row that a form changes, besides its key.
FIELDS = ("url", "offers", "memory_stays_home", "position", "is_enabled")


class ServerNotSavedError(UserFacingError):
    """The server cannot be saved so."""


class ServerNameTakenError(ServerNotSavedError):
    """Another server has this name, in a row or in the environment."""

    wording = _("There is a server of this name already.")


class ChangedMeanwhileError(ServerNotSavedError):
    """The server was changed or removed since the form was opened."""

    wording = _("Somebody else has changed this server meanwhile. Open it again, and make your change there.")


class KeyNeededError(ServerNotSavedError):
    """The stored key must not be sent to another server than the one that it was entered for."""

    wording = _("The stored key is for another host or port. Enter the key for this one, or remove it.")


class TooManyServersError(ServerNotSavedError):
    """There are as many servers as there may be."""

    wording = _("There are too many servers. Remove one first.")


@transaction.atomic
def add(actor: User, said: Mapping[str, Any], groups: Sequence[Group] | None) -> ModelServer:
    """Store a new server of what a valid form has `said`, for the members of `groups`; None: for everybody.

    Raise ServerNameTakenError or TooManyServersError.
    """
    if any(each.name.casefold() == said["name"].casefold() for each in settings.UPSTREAMS):
        raise ServerNameTakenError
    if ModelServer.objects.count() >= SERVERS_MAX_COUNT:
        raise TooManyServersError
    row = ModelServer(name=said["name"], changed_by=actor, **_fields(said))
    row.set_key(said["key"])
    try:
        with transaction.atomic():
            row.save(force_insert=True)
    except IntegrityError:
        raise ServerNameTakenError from None
    _limit(actor, row.name, groups)
    _recorded(actor, row, "added")
    return row


@transaction.atomic
def change(actor: User, row_id: int, said: Mapping[str, Any], groups: Sequence[Group] | None) -> ModelServer:
    """Change a server to what a valid form has `said`, unless it was changed since the form was opened.

    Raise ChangedMeanwhileError or KeyNeededError.
    """
    row = ModelServer.objects.select_for_update().filter(pk=row_id, version=said["version"]).first()
    if row is None:
        raise ChangedMeanwhileError
    before, origin = {name: getattr(row, name) for name in FIELDS}, row.origin
    for name, value in _fields(said).items():
        setattr(row, name, value)
    changed = [name for name in FIELDS if getattr(row, name) != before[name]]
    if said["key"] or said.get("removes_key"):
        row.set_key(said["key"])
        changed.append("key")
    elif row.sealed_key and row.origin != origin:
        raise KeyNeededError
    row.version += 1
    row.changed_by = actor
    row.save()
    _limit(actor, row.name, groups)
    _recorded(actor, row, "changed", changed=changed)
    return row


@transaction.atomic
def remove(actor: User, row: ModelServer) -> None:
    """Remove a server. Its rule stays, so that one of the same name is not open to more people by accident."""
    deleted, _rows = ModelServer.objects.filter(pk=row.pk).delete()
    if deleted:
        _recorded(actor, row, "removed")


def _fields(said: Mapping[str, Any]) -> dict[str, Any]:
    return {name: said["models" if name == "offers" else name] for name in FIELDS}


def _limit(actor: User, name: str, groups: Sequence[Group] | None) -> None:
    """Let the members of `groups` alone use the server, if that is not so already."""
    rule = ModelRule.objects.filter(server=name, model="").first()
    now = None if rule is None else {group.pk for group in rule.groups.all()}
    if now != (None if groups is None else {group.pk for group in groups}):
        model_rules.change(actor, name, "", groups)


def _recorded(actor: User, row: ModelServer, act: str, **details: Any) -> None:
    details |= {"server": row.name, "act": act, "url": row.url, "memory_stays_home": row.memory_stays_home}
    record(AuditKind.SETTING_CHANGED, actor=actor, **details)
    transaction.on_commit(servers.of_rows.forget)
