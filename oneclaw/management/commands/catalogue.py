"""`manage.py catalogue`: update the translation catalogues, or check that they are complete."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser


class Command(BaseCommand):
    help = "Bring locale/ up to date with the code and compile it. With --check: say what is missing or wrong."
    requires_system_checks = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("languages", nargs="*", help="only these, such as de or zh_Hans, are checked")
        parser.add_argument("--check", action="store_true", help="change nothing, and fail unless all is translated")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            from oneclaw.languages import catalogues
        except ImportError as error:
            raise CommandError("Babel is not installed: pip install -r requirements/test.txt first.") from error
        if not options["check"]:
            catalogues.update()
        only = options["languages"] or catalogues.languages()
        found = [fault for fault in catalogues.faults() if fault.partition(":")[0] in only]
        for fault in found:
            self.stdout.write(fault)
        if found and options["check"]:
            raise CommandError(f"{len(found)} texts are not as they should be.")
        self.stdout.write(f"{len(found)} texts are to be looked at." if found else "Every text is translated.")
