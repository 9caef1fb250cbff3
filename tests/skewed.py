"""Run manage.py in a process whose clock is wrong: python -m tests.skewed SECONDS ARGUMENTS…

Seconds below zero are behind. The monotonic clock is right, as on a machine whose time was set wrongly.
"""

import datetime as dt
import os
import sys
import time


def main() -> None:
    skew_seconds = float(sys.argv[1])
    right = time.time
    time.time = lambda: right() + skew_seconds
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "oneclaw.settings")

    from django.utils import timezone

    # Before the models are loaded, whose fields have it as their default.
    timezone.now = lambda: dt.datetime.fromtimestamp(time.time(), dt.UTC)

    from django.core.management import execute_from_command_line

    execute_from_command_line(["manage.py", *sys.argv[2:]])


if __name__ == "__main__":
    main()
