"""`manage.py restore FILE`: restore a backup into an empty installation, and check it."""

from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from oneclaw.ops.backup import BackupError
from oneclaw.ops.restore import RestoreError, restore_backup


class Command(BaseCommand):
    help = (
        "Restores a backup into an empty installation, applies the migrations of this release, and checks the result."
    )
    requires_system_checks = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", type=Path, help="a file that `backup` has written")
        parser.add_argument("--key", type=Path, metavar="KEY_FILE", help="the private key of age that decrypts it")

    def handle(self, *, file: Path, key: Path | None, **options: Any) -> None:
        try:
            found = restore_backup(file, self.stdout.write, key)
        except (RestoreError, BackupError) as error:
            raise CommandError(str(error)) from error
        for sentence in found:
            self.stderr.write(sentence)
        if found:
            raise CommandError("The backup is restored, but not everything is as it was.")
        self.stdout.write("Everything is as it was. Start OneClaw.")
