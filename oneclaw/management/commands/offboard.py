"""`manage.py offboard EMAIL --to EMAIL [--dry-run]`: remove a person, and print the receipt."""

import json as json_format
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from oneclaw.leaving import offboard
from oneclaw.management.arguments import person
from oneclaw.models import Offboarding
from oneclaw.text import UserFacingError


class Command(BaseCommand):
    help = "Removes a person: spaces and shared conversations are handed over, everything else is deleted."
    # With --json standard output is one JSON document and nothing else.
    requires_system_checks = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("email")
        parser.add_argument("--to", metavar="EMAIL", help="who gets the spaces that only this person owns")
        parser.add_argument("--dry-run", action="store_true", help="only say what would go")
        parser.add_argument("--json", action="store_true", help="one JSON document on standard output")

    def handle(self, *, email: str, to: str | None, dry_run: bool, json: bool, **options: Any) -> None:
        leaving, receiver = person(email), person(to) if to else None
        planned = offboard.plan(leaving)
        if dry_run:
            result: dict[str, Any] = {"dry_run": True, "counts": planned.counts, "hashes": planned.hashes}
        else:
            result = self.removed(email, receiver).as_json
        if json:
            self.stdout.write(json_format.dumps(result, ensure_ascii=False))
            return
        said = "This would go or be handed over:" if dry_run else f"{email} was removed. Receipt {result['receipt']}:"
        self.stdout.write("\n".join([said, *(f"    {reason.in_english}" for reason in planned.reasons)]))

    def removed(self, email: str, receiver: Any) -> Offboarding:
        """Remove the person, or finish what has begun; return the receipt. Raise CommandError."""
        try:
            job = offboard.begin(person(email), receiver=receiver)
        except offboard.AlreadyLeavingError:
            job = Offboarding.objects.get(person=person(email).pk)
        except UserFacingError as error:
            raise CommandError(error.sentence) from error
        if not offboard.run(job.pk):
            job.refresh_from_db()
            why = f": {job.error}" if job.error else ""
            raise CommandError(f"The removal is not done yet{why}. A worker goes on with it; or call this again later.")
        job.refresh_from_db()
        return job
