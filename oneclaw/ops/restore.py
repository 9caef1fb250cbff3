"""Restore a backup (oneclaw/ops/backup.py) into an empty installation.

Everything is checked before anything is changed. Files are written first, and the database is restored in one
transaction: after a crash in between, the database is still empty, and the command can be run again.
"""

import contextlib
import hashlib
import json
import tarfile
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path, PurePosixPath

import pyrage
from django.apps import apps
from django.conf import settings
from django.core.management import call_command
from django.db import connection
from django.db.backends.utils import CursorWrapper

from oneclaw import files, invariants
from oneclaw.audit.record import record
from oneclaw.config import environment
from oneclaw.config.release import is_newer, version
from oneclaw.models import AuditKind, ModelServer
from oneclaw.ops.backup import (
    DATABASE,
    FOLDERS,
    FORMAT_NUMBER,
    MANIFEST,
    SECRET_KEY,
    Manifest,
    count_rows,
    key_hash,
    run_program,
)
from oneclaw.sealing import UnsealableError

# How an encrypted file of age begins.
AGE_HEADER = b"age-encryption.org/v1"
# A connection that was closed, such as the one that asked whether the server is there, is listed for a moment more.
CLOSING_SECONDS = 3.0


class RestoreError(Exception):
    """The backup could not be restored; the message says why."""


def restore_backup(source: Path, say: Callable[[str], None], key: Path | None = None) -> list[str]:
    """Restore the backup in the file `source`, apply the migrations of this release, and return what is not as it was:
    tables with other numbers of rows, and violations of the invariants that the backup did not have.

    `say` gets a sentence for each step; `key` is the file of the private key of an encrypted backup. Raise RestoreError
    when this installation is not empty, the key does not fit, or the file is damaged, and BackupError when PostgreSQL
    refuses.
    """
    try:
        with plain_backup(source, key) as plain, tarfile.open(plain) as archive:
            manifest = checked(archive)
            say(f"The backup of {manifest.made_at} (release {manifest.release}) is complete.")
            refuse_unless_empty()
            with tempfile.TemporaryDirectory(prefix=".restore-", dir=settings.HOME) as temporary:
                dump = Path(temporary) / DATABASE
                _extract(archive, dump)
                _restore_files(archive, manifest)
                say(f"{len(manifest.members) - 1} files are written.")
                connection.close()
                run_program(
                    *("pg_restore", "--single-transaction", "--exit-on-error", "--no-owner", "--no-privileges"),
                    *(f"--dbname={connection.settings_dict['NAME']}", str(dump)),
                )
    except (tarfile.TarError, EOFError, KeyError, ValueError, TypeError) as error:
        raise RestoreError(f"{source} is not a backup of OneClaw, or it is damaged: {error}.") from error
    except OSError as error:
        raise RestoreError(f"The backup could not be read or written: {error.strerror or error}.") from error
    found = _differences(manifest)
    say("The database is restored.")
    call_command("migrate", interactive=False, verbosity=0)
    is_configured = bool(environment.text("ONECLAW_SECRET_KEY"))
    if manifest.key_hash != key_hash() and (is_configured or SECRET_KEY not in manifest.members):
        found.append(
            "ONECLAW_SECRET_KEY is not the one of the backup: people must sign in again, and forgotten lines are not "
            "recognised. Set it to the old one."
        )
    if unread := ", ".join(_servers_without_key()):
        found.append(
            f"The keys of these model servers cannot be read: {unread}. Enter them again under Team › Models, or name "
            "the secret key of the backup in ONECLAW_SECRET_KEY_FALLBACKS."
        )
    record(AuditKind.RESTORED, made_at=manifest.made_at, release=manifest.release, command="restore")
    known = set(manifest.violations)
    return found + [text for text in map(str, invariants.check()) if text not in known]


@contextlib.contextmanager
def plain_backup(source: Path, key: Path | None) -> Iterator[Path]:
    """Yield the path of the backup in plain: `source`, or a decrypted copy, which is removed afterwards.

    Raise RestoreError when `key` is missing, is none, or does not open it.
    """
    with source.open("rb") as file:
        is_encrypted = file.read(len(AGE_HEADER)) == AGE_HEADER
    if not is_encrypted:
        yield source
        return
    if key is None:
        raise RestoreError("The backup is encrypted: name the file of its private key with --key.")
    # A comment line begins with #, as in the files of age-keygen.
    lines = [line.strip() for line in key.read_text().splitlines()]
    try:
        identities = [pyrage.x25519.Identity.from_str(line) for line in lines if line and not line.startswith("#")]
    except pyrage.IdentityError as error:
        raise RestoreError(f"{key} has no private key of age (AGE-SECRET-KEY-…).") from error
    with tempfile.TemporaryDirectory(prefix=".restore-", dir=settings.HOME) as temporary:
        plain = Path(temporary) / "backup.tar"
        try:
            pyrage.decrypt_file(str(source), str(plain), identities)
        except (pyrage.DecryptError, OSError) as error:
            raise RestoreError(f"{source} cannot be decrypted with {key}: {error}.") from error
        yield plain


def _servers_without_key() -> list[str]:
    """Return the names of the model servers whose stored key was sealed with another secret key."""
    unread = []
    for server in ModelServer.objects.all():
        try:
            _key = server.key
        except UnsealableError:
            unread.append(server.name)
    return unread


def checked(archive: tarfile.TarFile) -> Manifest:
    """Return the manifest of a backup whose members are all there and unchanged. Raise RestoreError otherwise."""
    manifest = Manifest(**json.loads(_read(archive, MANIFEST)))
    if manifest.format != FORMAT_NUMBER:
        raise RestoreError(f"The backup has format {manifest.format}; this release reads {FORMAT_NUMBER}.")
    if is_newer(manifest.release):
        raise RestoreError(
            f"The backup was made by release {manifest.release}, and this is {version()}: restore it with that release."
        )
    names = [member.name for member in archive if member.isreg()]
    if sorted(names) != sorted([*manifest.members, MANIFEST]) or DATABASE not in manifest.members:
        raise RestoreError("The backup is incomplete, or has files that its manifest does not name.")
    for name, expected in manifest.members.items():
        if not _is_allowed(name):
            raise RestoreError(f"The backup has a file outside its folders: {name}")
        stream = archive.extractfile(name)
        if stream is None or hashlib.file_digest(stream, "sha256").hexdigest() != expected:  # type: ignore[arg-type]
            raise RestoreError(f"The backup is damaged: {name} has changed.")
    return manifest


def refuse_unless_empty() -> None:
    """Raise RestoreError when the database has people or OneClaw uses it; tables without people are dropped."""
    with connection.cursor() as cursor:
        deadline = time.monotonic() + CLOSING_SECONDS
        while _has_other_clients(cursor):
            if time.monotonic() > deadline:
                raise RestoreError("Other programs use the database. Stop OneClaw first.")
            time.sleep(0.1)
        tables = set(connection.introspection.table_names(cursor))
        people = apps.get_model(settings.AUTH_USER_MODEL)
        if people._meta.db_table in tables and people._default_manager.exists():
            raise RestoreError(
                "This installation has people. Restore into an empty one: another ONECLAW_HOME or database."
            )
        # Tables of an installation that was started once.
        cursor.execute("DROP SCHEMA public CASCADE")
        cursor.execute("CREATE SCHEMA public")


def _has_other_clients(cursor: CursorWrapper) -> bool:
    cursor.execute(
        "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() "
        "AND backend_type = 'client backend' AND pid <> pg_backend_pid()"
    )
    return bool(cursor.fetchone()[0])


def _is_allowed(name: str) -> bool:
    """Return whether `name` is a member that a backup has."""
    path = PurePosixPath(name)
    in_folder = len(path.parts) > 1 and path.parts[0] in FOLDERS and ".." not in path.parts and not path.is_absolute()
    return in_folder or name in (DATABASE, SECRET_KEY)


def _restore_files(archive: tarfile.TarFile, manifest: Manifest) -> None:
    for name in manifest.members:
        folder, _, path = name.partition("/")
        if folder in FOLDERS:
            files.write(getattr(settings, FOLDERS[folder]), path, _read(archive, name))
        elif name == SECRET_KEY:
            files.write(settings.HOME, SECRET_KEY, _read(archive, name))


def _extract(archive: tarfile.TarFile, target: Path) -> None:
    stream = archive.extractfile(DATABASE)
    assert stream is not None
    with target.open("wb") as file:
        while block := stream.read(1 << 20):
            file.write(block)


def _read(archive: tarfile.TarFile, name: str) -> bytes:
    stream = archive.extractfile(name)
    if stream is None:
        raise RestoreError(f"The backup has no {name}.")
    return stream.read()


def _differences(manifest: Manifest) -> list[str]:
    """Return a sentence for each table that does not have as many rows as the manifest says."""
    now = count_rows()
    tables = sorted(now.keys() | manifest.rows.keys())
    return [
        f"{table} has {now.get(table, 0)} rows instead of {manifest.rows.get(table, 0)}."
        for table in tables
        if now.get(table) != manifest.rows.get(table)
    ]
