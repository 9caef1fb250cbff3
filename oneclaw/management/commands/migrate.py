"""`manage.py migrate`: Django's own, which does not touch a database that a newer release has migrated."""

from typing import Any

from django.core.management.base import CommandError
from django.core.management.commands import migrate

from oneclaw.ops.newer_database import NewerDatabaseError, refuse_newer_database


class Command(migrate.Command):
    def handle(self, *args: Any, **options: Any) -> None:
        try:
            refuse_newer_database()
        except NewerDatabaseError as error:
            raise CommandError(str(error)) from error
        super().handle(*args, **options)
