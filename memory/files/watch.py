"""Watch the folders in the worker, so that changes of files are imported within seconds.

The watcher compares the times and sizes of files, which also works for network disks. The scan each minute reads the
files, and finds changes that kept both.
"""

import logging
import threading
import time
from pathlib import Path
from typing import Any

from celery import signals
from django.conf import settings
from django.db import Error as DatabaseFailure
from django.db import connection

from memory.files import disk
from memory.files.scan import scan_folder
from oneclaw.models import Space

logger = logging.getLogger(__name__)

# The least interval between two checks. It grows with the number of files, to use at most this share of a processor.
WATCH_INTERVAL_SECONDS = 1.0
WATCH_PROCESSOR_SHARE = 0.05


@signals.worker_ready.connect
def start_watching(**_: Any) -> None:
    """Start the watcher as a thread of the worker."""
    threading.Thread(target=watch, args=(threading.Event(),), name="watching", daemon=True).start()


def watch(stop: threading.Event) -> None:
    """Import changes in the folders of all spaces until `stop` is set."""
    seen: dict[int, int] = {}
    changed: set[int] = set()
    pause = 0.0
    while not stop.wait(pause):
        started = time.monotonic()
        now = {space: disk.fingerprint(folder) for space, folder in folders().items()}
        pause = max(WATCH_INTERVAL_SECONDS, (time.monotonic() - started) / WATCH_PROCESSOR_SHARE)
        changed |= {space for space, mark in now.items() if seen.get(space) != mark}
        seen = now
        if changed:
            changed = scan_changed(changed)


def scan_all() -> None:
    """Scan the folder of every space."""
    for space in Space.objects.filter(pk__in=folders()).select_related("owner"):
        scan_folder(space)


def scan_changed(spaces: set[int]) -> set[int]:
    """Scan the folders of the spaces with these ids, and return the ids of those that must be scanned again."""
    try:
        return {space.pk for space in Space.objects.filter(pk__in=spaces).select_related("owner") if scan_folder(space)}
    except DatabaseFailure:
        logger.exception("What changed in folders could not be imported; it is tried again.")
        return spaces
    finally:
        connection.close()


def folders() -> dict[int, Path]:
    """Return the folders on the disk by space id, which is their name."""
    try:
        found = list(Path(settings.WORKSPACES).iterdir())
    except OSError:
        return {}
    return {
        int(path.name): path for path in found if path.name.isascii() and path.name.isdigit() and len(path.name) < 19
    }
