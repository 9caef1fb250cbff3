#!/usr/bin/env python
import os
import sys


def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "oneclaw.settings")
    from django.core.exceptions import ImproperlyConfigured
    from django.core.management import execute_from_command_line
    from django.db import ProgrammingError

    try:
        execute_from_command_line(sys.argv)
    except ImproperlyConfigured as wrong:
        sys.exit(str(wrong))
    except ProgrammingError as error:
        # UndefinedTable and UndefinedColumn.
        if getattr(error.__cause__, "sqlstate", "") not in ("42P01", "42703"):
            raise
        sys.exit("The database has no tables yet, or not those of this release: run the command migrate first.")


if __name__ == "__main__":
    main()
