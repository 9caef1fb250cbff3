"""The database of the tests, migrated once: each process, and each later run, gets a copy, which takes no time.

It stays on the server as `oneclaw_tests_…`, until the migrations or the packages change.
"""

import fcntl
import hashlib
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path

from django.apps import apps
from django.conf import settings
from django.db import connection

BEFORE = "oneclaw_tests_"


def migrated() -> str:
    """The name of a database in which everything is migrated; made now, unless it is there."""
    name = BEFORE + fingerprint()
    with open(settings.HOME / f"{BEFORE}lock", "w") as lock:
        # Of several processes one makes it, and the others wait.
        fcntl.flock(lock, fcntl.LOCK_EX)
        with connection._nodb_cursor() as cursor:
            cursor.execute("SELECT datname FROM pg_database WHERE datname LIKE %s", [f"{BEFORE}%"])
            found = {row[0] for row in cursor.fetchall()}
        if name not in found:
            make(name, sorted(found))
    return name


def make(name: str, outdated: list[str]) -> None:
    """Migrate under another name, so that what was broken off is not taken for the whole."""
    own, test = connection.settings_dict["NAME"], connection.settings_dict["TEST"]
    draft = f"{BEFORE}draft"
    test["NAME"], wanted = draft, test["NAME"]
    try:
        connection.creation.create_test_db(verbosity=0, autoclobber=True, serialize=False)
    finally:
        test["NAME"] = wanted
        connection.close()
        connection.close_pool()
        connection.settings_dict["NAME"] = own
    with connection._nodb_cursor() as cursor:
        # A draft among them was broken off, and has just been made anew.
        for old in set(outdated) - {draft}:
            cursor.execute(f"DROP DATABASE IF EXISTS {connection.ops.quote_name(old)}")
        cursor.execute(f"ALTER DATABASE {draft} RENAME TO {name}")


def fingerprint() -> str:
    """What the tables are made of: the migrations, and the packages that bring some."""
    seen = hashlib.sha256("".join(version(package) for package in ("django", "django-allauth")).encode())
    for file in migrations():
        seen.update(file.name.encode() + file.read_bytes())
    return seen.hexdigest()[:12]


def migrations() -> Iterator[Path]:
    for label in ("oneclaw", "chat", "memory"):
        yield from sorted(Path(apps.get_app_config(label).path, "migrations").glob("*.py"))
