"""`manage.py check_invariants`: check all invariants of the database. The admin shows the results."""

import json
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from oneclaw import invariants
from oneclaw.invariants import Violation


class Command(BaseCommand):
    help = "Check what must hold over the whole database: one line for each violation, and an exit code that says so."
    # --json gives one JSON document on standard output and nothing else.
    requires_system_checks = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--json", action="store_true", help="one JSON document on standard output")

    def handle(self, *args: Any, **options: Any) -> None:
        def write(violation: Violation) -> None:
            if not options["json"]:
                self.stdout.write(str(violation))

        run = invariants.run(write)
        if options["json"]:
            found = {"checked": run.checked, "count": run.count, "violations": run.violations, "seconds": run.seconds}
            self.stdout.write(json.dumps(found, ensure_ascii=False))
        if run.count:
            raise CommandError(f"{run.count} violations.")
        if not options["json"]:
            self.stdout.write(f"{run.checked} invariants hold.")
