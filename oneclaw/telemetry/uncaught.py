"""Log what ends a process or a thread, which Python would print with its message."""

import logging
import sys
import threading
from types import TracebackType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sys import UnraisableHookArgs

logger = logging.getLogger(__name__)


def begin() -> None:
    """Log, from now on, what this process does not catch. Called once by each process that serves."""
    sys.excepthook = _log
    sys.unraisablehook = _log_unraisable
    threading.excepthook = _log_of_thread


def _log(kind: type[BaseException], error: BaseException, frames: TracebackType | None) -> None:
    if issubclass(kind, KeyboardInterrupt):
        sys.__excepthook__(kind, error, frames)
        return
    logger.critical("The process ends, because of what it did not catch.", exc_info=(kind, error, frames))


def _log_of_thread(ended: threading.ExceptHookArgs) -> None:
    if ended.exc_value is not None and not isinstance(ended.exc_value, SystemExit):
        logger.error("A thread ends, because of what it did not catch.", exc_info=ended.exc_value)


def _log_unraisable(met: "UnraisableHookArgs") -> None:
    logger.error("An exception could not be raised.", exc_info=met.exc_value)
