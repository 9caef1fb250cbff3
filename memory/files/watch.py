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

# Paths of files in the folder of a space, by the id of the space.
ChangedPaths = dict[int, set[str]]

# The least interval between two checks. It grows with the number of files, to use at most this share of a processor.
WATCH_INTERVAL_SECONDS = 1.0
WATCH_PROCESSOR_SHARE = 0.05


@signals.worker_ready.connect
def start_watching(**_: Any) -> None:
    """Start the watcher as a thread of the worker."""
    threading.Thread(target=watch, args=(threading.Event(),), name="watching", daemon=True).start()


def watch(stop: threading.Event) -> None:
    """Import changes in the folders of all spaces until `stop` is set."""
    seen: dict[int, dict[str, disk.FileMark]] = {}
    changed: ChangedPaths = {}
    pause = 0.0
    while not stop.wait(pause):
        started = time.monotonic()
        now = {space: disk.fingerprints(folder) for space, folder in folders().items()}
        pause = max(WATCH_INTERVAL_SECONDS, (time.monotonic() - started) / WATCH_PROCESSOR_SHARE)
        for space, marks in now.items():
            if paths := {path for path, mark in marks.items() if seen.get(space, {}).get(path) != mark}:
                changed.setdefault(space, set()).update(paths)
        seen = now
        if changed:
            changed = scan_changed(changed)


def scan_all() -> None:
    """Scan the folder of every space."""
    for space in Space.objects.filter(pk__in=folders()).select_related("owner"):
        scan_folder(space)


def scan_changed(changed: ChangedPaths) -> ChangedPaths:
    """Import the files at these paths of the spaces with these ids, and return those that must be scanned again."""
    try:
        spaces = Space.objects.filter(pk__in=changed).select_related("owner")
        again = {space.pk: scan_folder(space, paths=changed[space.pk]) for space in spaces}
        return {space: paths for space, paths in again.items() if paths}
    except DatabaseFailure:
        logger.exception("What changed in folders could not be imported; it is tried again.")
        return changed
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
