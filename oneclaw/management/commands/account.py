"""`manage.py account export EMAIL FILE` and `account import EMAIL FILE`: everything of a person as one zip file."""

import json as json_format
import os
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from oneclaw.leaving import archive
from oneclaw.management.arguments import person
from oneclaw.text import UserFacingError


class Command(BaseCommand):
    help = "Writes everything of a person into one zip file, or imports such a file into an account."
    # With --json standard output is one JSON document and nothing else.
    requires_system_checks = []

    def add_arguments(self, parser: CommandParser) -> None:
        actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
        for name, about, do in (
            ("export", "write everything of a person into a new file", self.export),
            ("import", "import such a file into the account of a person", self.take),
        ):
            action = actions.add_parser(name, help=about)
            action.add_argument("email")
            action.add_argument("file", type=Path)
            action.add_argument("--json", action="store_true", help="one JSON document on standard output")
            action.set_defaults(do=do)

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            result = options["do"](options["email"], options["file"])
        except UserFacingError as error:
            raise CommandError(error.sentence) from error
        except OSError as error:
            raise CommandError(f"{options['file']}: {error.strerror}.") from error
        if options["json"]:
            self.stdout.write(json_format.dumps(result))
        else:
            self.stdout.write("\n".join(f"{name}: {value}" for name, value in result.items()))

    def export(self, email: str, path: Path) -> dict[str, Any]:
        """Write the archive into a new file that only its owner may read."""
        user = person(email)
        with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            size = sum(file.write(piece) for piece in archive.export(user, command="account export"))
        return {"file": str(path), "bytes": size}

    def take(self, email: str, path: Path) -> dict[str, Any]:
        """Import the archive."""
        with path.open("rb") as file:
            return archive.read(person(email), file)
