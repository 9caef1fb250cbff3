"""Import what changed in a folder a moment ago, for a prompt that is about to be made.

The watcher of the worker finds such changes too, but a few seconds later.
"""

import time

from memory.files import disk
from memory.files.folders import folder_of
from memory.files.scan import scan_folder
from oneclaw.models import Space

# File systems keep times in steps of up to two seconds.
CLOCK_STEP_SECONDS = 2.0
WAIT_SECONDS, POLL_SECONDS = 2.0, 0.1

# When the folder of each space was last looked through in this process.
_looked_at: dict[int, float] = {}


def import_recent_changes(space: Space) -> bool:
    """Import the files in the folder of `space` that were touched since the last call in this process; return whether
    there were any.

    Wait up to WAIT_SECONDS for a file that is being written; after that it is left to the watcher.
    """
    since, now = _looked_at.get(space.pk, 0.0), time.time()
    deadline = now + WAIT_SECONDS
    changed = has_changed(space, since)
    if changed:
        while scan_folder(space, since):
            if time.time() >= deadline:
                return True
            time.sleep(POLL_SECONDS)
    _looked_at[space.pk] = now - CLOCK_STEP_SECONDS
    return changed


def has_changed(space: Space, since: float) -> bool:
    """Return whether an entry of the folder was touched after `since`; False without a folder."""
    folder = folder_of(space)
    try:
        return any(disk.touched_at(folder, found.path) >= since for found in disk.walk(folder))
    except OSError:
        return False
