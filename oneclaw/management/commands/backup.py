"""`manage.py backup FILE`: write the database and all files to one file, also while OneClaw runs."""

from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from oneclaw.audit.record import record
from oneclaw.models import AuditKind
from oneclaw.ops.backup import SECRET_KEY, BackupError, write_backup, write_key


class Command(BaseCommand):
    help = "Writes the database, the attached files and the files of memory to one file. OneClaw may run meanwhile."
    requires_system_checks = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "file", type=Path, nargs="?", help="the file to write, such as oneclaw.tar; it must not exist"
        )
        parser.add_argument(
            "--to",
            action="append",
            default=[],
            metavar="PUBLIC_KEY",
            help="encrypt it for this public key of age (age1…); may be given several times",
        )
        parser.add_argument(
            "--new-key",
            type=Path,
            metavar="KEY_FILE",
            help="write a new private key of age to this file, print its public key, and do nothing else",
        )

    def handle(self, *, file: Path | None, to: list[str], new_key: Path | None, **options: Any) -> None:
        try:
            if new_key:
                self.stdout.write(write_key(new_key))
                self.stderr.write(
                    f"Keep {new_key} elsewhere: who has it reads the backups, and without it nobody does."
                )
                return
            if file is None:
                raise CommandError("Name the file to write, such as oneclaw.tar.")
            # Before the snapshot of the database, so that the backup has it too, also when it does not get ready.
            record(AuditKind.EXPORTED, of="backup", command="backup")
            manifest = write_backup(file.absolute(), to)
        except BackupError as error:
            raise CommandError(str(error)) from error
        rows, members = sum(manifest.rows.values()), len(manifest.members) - 1
        held = f"{file} has {rows} rows and {members} files"
        if SECRET_KEY in manifest.members:
            held += ", among them the secret key, which opens stored keys of model servers and second factors"
        self.stdout.write(f"{held}. {'It is encrypted.' if to else 'Keep it private: it has everything.'}")
        for violation in manifest.violations:
            self.stderr.write(violation)
        if manifest.violations:
            raise CommandError("The backup is written, but the database has violations (manage.py check_invariants).")
