"""`manage.py serve` runs all processes; `manage.py serve web` runs one process of a larger deployment."""

import os
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from oneclaw.config.home import PRIVATE_UMASK_BITS
from oneclaw.ops import roles
from oneclaw.ops.serve import CannotStartError, serve

ROLES = {"web": roles.web, "worker": roles.worker, "beat": roles.beat}


class Command(BaseCommand):
    help = "Runs OneClaw: web, worker and beat, with the embedded PostgreSQL unless DATABASE_URL names another."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("role", nargs="?", choices=list(ROLES), help="run this process alone, in the foreground")

    def handle(self, *args: Any, role: str | None, **options: Any) -> None:
        os.umask(PRIVATE_UMASK_BITS)
        if role:
            ROLES[role]()
            return
        try:
            serve(self.say)
        except CannotStartError as reason:
            raise CommandError(str(reason)) from reason

    def say(self, line: str) -> None:
        """Write `line` to standard output at once."""
        self.stdout.write(line)
        self.stdout.flush()
