"""`manage.py audit verify | export`: check the chain of the audit log, and write it as JSON lines."""

import json
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from oneclaw.audit import chain
from oneclaw.audit.chain import Newest
from oneclaw.audit.record import record
from oneclaw.models import AuditEvent, AuditKind


class Command(BaseCommand):
    help = "Check the audit log for events that were changed or removed, or write it as JSON lines."
    requires_system_checks = []

    def add_arguments(self, parser: CommandParser) -> None:
        actions = parser.add_subparsers(dest="action", required=True)
        verify = actions.add_parser("verify", help="one line for each fault, and an exit code that says so")
        verify.add_argument("--expect", metavar="LINK", help="a link that was printed before, POSITION:HASH")
        export = actions.add_parser("export", help="one JSON document a line, oldest first, on standard output")
        export.add_argument("--after", type=int, default=0, metavar="ID", help="only events after this one")

    def handle(self, *args: Any, **options: Any) -> None:
        if options["action"] == "export":
            # Its own event is in the next one.
            latest = record(AuditKind.EXPORTED, of="audit log", command="audit export").pk
            events = AuditEvent.objects.filter(pk__gt=options["after"], pk__lt=latest)
            for event in events.order_by("pk").iterator(chunk_size=1000):
                self.stdout.write(json.dumps(event.as_json, ensure_ascii=False))
            return
        count = 0
        for fault in chain.faults(link_of(options["expect"])):
            self.stdout.write(fault)
            count += 1
        if count:
            raise CommandError(f"{count} faults.")
        self.stdout.write(f"The audit log is whole. Its newest link: {chain.newest()}")


def link_of(text: str | None) -> Newest | None:
    """Return the link that `text` names as POSITION:HASH; None for None. Raise CommandError when it is none."""
    if text is None:
        return None
    position, _, hexadecimal = text.partition(":")
    try:
        return Newest(int(position), bytes.fromhex(hexadecimal))
    except ValueError:
        raise CommandError("--expect needs a link as `audit verify` prints it: POSITION:HASH.") from None
