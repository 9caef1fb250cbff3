"""Refuse a database that a newer release has migrated: this one would misread or lose what it adds."""

import re
from collections.abc import Iterable

from django.db import connection
from django.db.migrations.loader import MigrationLoader

NUMBER = re.compile(r"\d+")
OWN_APPS = frozenset({"oneclaw", "chat", "memory"})


class NewerDatabaseError(Exception):
    """A newer release has migrated the database; the message says what to do."""


def refuse_newer_database() -> None:
    """Raise NewerDatabaseError when the database has a migration that is newer than those of this release.

    Those of libraries do not count: their versions differ between installations of the same release.
    """
    loader = MigrationLoader(connection)
    replaced = [each for migration in loader.disk_migrations.values() for each in migration.replaces]
    known = [each for each in (*loader.disk_migrations, *replaced) if each[0] in OWN_APPS]
    found = newer_migrations(loader.applied_migrations, known)
    if found:
        raise NewerDatabaseError(
            f"A newer release has migrated this database (to {' '.join(found[0])}): start that one again, or restore a "
            "backup of this release into another database."
        )


def newer_migrations(applied: Iterable[tuple[str, str]], known: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    """Return those of `applied`, as (app, name), whose number is higher than that of every migration `known` of their
    app. Pure.

    The number decides, and not the name: old migrations were replaced by others, and are still recorded.
    """
    newest: dict[str, int] = {}
    for app, name in known:
        newest[app] = max(newest.get(app, 0), _number(name))
    return sorted((app, name) for app, name in applied if app in newest and _number(name) > newest[app])


def _number(name: str) -> int:
    found = NUMBER.match(name)
    return int(found[0]) if found else 0
