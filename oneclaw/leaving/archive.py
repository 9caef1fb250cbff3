"""One archive with everything of a person: written by the settings page or the shell, and imported into any account.

`account.json` says what the file is and has the settings; each app adds its own files (docs/export.md).
"""

import datetime as dt
import json
from collections.abc import Iterator
from typing import IO, Any

from django.conf import settings
from django.core.exceptions import ValidationError
from django.utils import timezone

from oneclaw import domains
from oneclaw.audit.record import record
from oneclaw.domains import Alive, ArchivePart
from oneclaw.models import AuditKind, User, validate_timezone
from oneclaw.zipping import ArchiveReader, BadArchiveError, ZipEntry, zipped

FORMAT, VERSION = "oneclaw.account", 1
ABOUT = "account.json"
MEGABYTE_BYTES = 1024 * 1024
# A file of JSON in an archive, such as a conversation, which takes many times as much when it is parsed.
JSON_MAX_BYTES = 64 * MEGABYTE_BYTES


def export(user: User, *, command: str = "") -> Iterator[bytes]:
    """Record that `user` takes everything along, or the shell with `command`, and return the pieces of the archive."""
    if command:
        record(AuditKind.EXPORTED, person=user, of="account", command=command)
    else:
        record(AuditKind.EXPORTED, actor=user, of="account")
    return zipped(entries(user))


def entries(user: User) -> Iterator[ZipEntry]:
    """Yield every file of the archive."""
    about = {
        "format": FORMAT,
        "version": VERSION,
        "made_at": timezone.now().isoformat(timespec="seconds"),
        "settings": {
            "name": user.first_name,
            "timezone": user.timezone,
            "language": user.language,
            "appearance": user.appearance,
        },
    }
    yield json_entry(user, ABOUT, about)
    for part in _parts():
        yield from part.write(user)


def json_entry(user: User, path: str, value: object, at: dt.datetime | None = None) -> ZipEntry:
    """Return a file of JSON."""
    return ZipEntry(path, [json.dumps(value, ensure_ascii=False, indent=1).encode()], user.local(at))


def read(user: User, file: IO[bytes], alive: Alive = lambda: None) -> dict[str, int]:
    """Take the archive in for `user`, and return {code: number} of what came of it.

    It may be called again: what is there is not taken in twice. Nothing is deleted. Raise BadArchiveError.
    """
    incoming = ArchiveReader(file, settings.IMPORT_UNPACKED_MEGABYTES * MEGABYTE_BYTES)
    about = json_of(incoming, ABOUT)
    if about.get("format") != FORMAT or not isinstance(about.get("version"), int) or about["version"] > VERSION:
        raise BadArchiveError
    take_settings(user, about.get("settings"))
    counts: dict[str, int] = {}
    for part in _parts():
        counts |= part.read(user, incoming, alive)
        alive()
    return counts


def _parts() -> list[ArchivePart]:
    return [each.archive for each in domains.registered() if each.archive]


def json_of(incoming: ArchiveReader, path: str) -> dict[str, Any]:
    """Return the JSON object in the file at `path`; an empty one without the file. Raise BadArchiveError."""
    data = incoming.read(path, JSON_MAX_BYTES)
    try:
        value = json.loads(data) if data is not None else {}
    except (ValueError, RecursionError):
        raise BadArchiveError from None
    if not isinstance(value, dict):
        raise BadArchiveError
    return value


def take_settings(user: User, found: object) -> None:
    """Set the settings that are valid here."""
    values = found if isinstance(found, dict) else {}
    if isinstance(name := values.get("name"), str) and name.strip():
        user.first_name = " ".join(name.split())[:150]
    if values.get("language") in dict(settings.LANGUAGES):
        user.language = values["language"]
    if values.get("appearance") in User.Appearance.values:
        user.appearance = values["appearance"]
    try:
        if isinstance(zone := values.get("timezone"), str):
            validate_timezone(zone)
            user.timezone, user.timezone_chosen = zone, True
    except ValidationError:
        pass
    user.save(update_fields=["first_name", "language", "appearance", "timezone", "timezone_chosen"])
