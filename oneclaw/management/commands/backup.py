"""`manage.py backup FILE`: write the database and all files to one file, also while OneClaw runs."""

from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from oneclaw.audit.record import record
from oneclaw.models import AuditKind
from oneclaw.ops.backup import BackupError, write_backup


class Command(BaseCommand):
    help = "Writes the database, the attached files and the files of memory to one file. OneClaw may run meanwhile."
    requires_system_checks = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", type=Path, help="the file to write, such as oneclaw.tar; it must not exist")

    def handle(self, *, file: Path, **options: Any) -> None:
        # Before the snapshot of the database, so that the backup has it too, also when it does not get ready.
        record(AuditKind.EXPORTED, of="backup", command="backup")
        try:
            manifest = write_backup(file.absolute())
        except BackupError as error:
            raise CommandError(str(error)) from error
        rows, members = sum(manifest.rows.values()), len(manifest.members) - 1
        self.stdout.write(f"{file} has {rows} rows and {members} files. Keep it private: it has everything.")
        for violation in manifest.violations:
            self.stderr.write(violation)
        if manifest.violations:
            raise CommandError("The backup is written, but the database has violations (manage.py check_invariants).")
