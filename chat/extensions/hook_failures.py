"""Count the failures of each hook in this process, and switch off one that fails too often, until the process ends."""

import datetime as dt
import logging
import os
import socket
import threading
import time
from collections import deque
from collections.abc import Iterable

from django.db import Error, transaction
from django.utils import timezone

from chat.extensions.hooks import Hook
from chat.models import SwitchedOffHook

logger = logging.getLogger(__name__)

# So many failures within so long switch a hook off.
FAILURES_MAX_COUNT, FAILURES_WINDOW_SECONDS = 5, 3600
# Rows of other hosts are kept so long: whether their processes still run cannot be seen from here.
RECORD_KEPT_DAYS = 7

_lock = threading.Lock()
_failures: dict[tuple[str, str], deque[float]] = {}
_switched_off: set[tuple[str, str]] = set()


def is_switched_off(hook: Hook) -> bool:
    """Return whether this process does not ask `hook` any more."""
    return _key(hook) in _switched_off


def record(hook: Hook, why: str) -> None:
    """Count a failure of `hook`, and switch it off after too many; `why` says what was wrong, without private text."""
    now, key = time.monotonic(), _key(hook)
    with _lock:
        times = _failures.setdefault(key, deque(maxlen=FAILURES_MAX_COUNT))
        times.append(now)
        is_too_often = len(times) == FAILURES_MAX_COUNT and now - times[0] < FAILURES_WINDOW_SECONDS
        if not is_too_often or key in _switched_off:
            return
        _switched_off.add(key)
    logger.error(
        "The hook %s at %s is switched off in this process after %d failures within an hour: %s",
        hook.name,
        hook.point,
        FAILURES_MAX_COUNT,
        hook.kind.ON_FAILURE if hook.fails_closed else "it is left out from now on",
    )
    try:
        with transaction.atomic():
            _remove_old_rows()
            row = {"point": hook.point, "name": hook.name[:200], "host": socket.gethostname()[:200], "pid": os.getpid()}
            SwitchedOffHook.objects.create(**row, why=why[:300])
    except Error:
        # The row is only for the list; the switch itself is this process's own.
        logger.exception("That the hook %s is switched off was not recorded.", hook.name)


def forget(hooks: Iterable[Hook]) -> None:
    """Forget the failures of hooks that are not registered any more."""
    with _lock:
        for hook in hooks:
            _failures.pop(_key(hook), None)
            _switched_off.discard(_key(hook))


def switched_off_rows() -> list[SwitchedOffHook]:
    """Return what processes have switched off, newest first, without those of this host that have ended."""
    here = socket.gethostname()[:200]
    return [row for row in SwitchedOffHook.objects.all() if row.host != here or _is_running(row.pid)]


def _remove_old_rows() -> None:
    SwitchedOffHook.objects.filter(at__lt=timezone.now() - dt.timedelta(days=RECORD_KEPT_DAYS)).delete()


def _is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def _key(hook: Hook) -> tuple[str, str]:
    return hook.point, hook.name
