"""Celery's transport through a folder: a message becomes visible only once it is written completely, and a damaged one
is set aside instead of stopping the worker."""

import contextlib
import fcntl
import logging
import os
import time
import uuid
from collections.abc import Iterator
from pathlib import Path
from queue import Empty
from typing import Any

from kombu.exceptions import ChannelError
from kombu.transport import filesystem
from kombu.utils.json import dumps, loads

logger = logging.getLogger(__name__)

# What reading a damaged message or exchange raises: it is empty, cut off, no JSON, or other JSON than expected.
DAMAGES = (ValueError, TypeError, KeyError, AttributeError)
# The folder, in that of the queue, of what could not be read.
BROKEN_FOLDER = "broken"


class Channel(filesystem.Channel):
    """A channel that writes each file completely before it can be read, and reads on after a damaged one."""

    # kombu itself names the second argument differently in its two base classes.
    def _put(self, queue: str, payload: Any, **kwargs: Any) -> None:  # type: ignore[override]
        """Write the message under a temporary name and rename it.

        kombu writes under the final name: a worker that read in between got an empty message, lost it and ended.
        """
        write_whole(Path(self.data_folder_out, f"{round(time.monotonic() * 1000)}_{uuid.uuid4()}.{queue}.msg"), payload)

    def _get(self, queue: str, timeout: float | None = None) -> Any:
        """Return the next readable message of `queue`, and set aside those before it that are not. Raise Empty."""
        folder = Path(self.data_folder_in)
        for name in sorted(os.listdir(folder)):
            if name.partition(".")[2] != f"{queue}.msg":
                continue
            taken = folder / f".{name}.taken"
            try:
                os.rename(folder / name, taken)
            except OSError:
                # Another worker was faster.
                continue
            try:
                payload = loads(taken.read_text())
                # kombu does so with what is returned, where an error ends the worker.
                self.message_to_python(payload)
            except (OSError, *DAMAGES) as error:
                set_aside(taken, folder, name, error)
                continue
            taken.unlink(missing_ok=True)
            return payload
        raise Empty

    def get_table(self, exchange: str) -> list[Any]:
        """Return the bindings of `exchange`; a file that cannot be read is set aside and written again."""
        file = self._exchange_file(exchange)
        try:
            return super().get_table(exchange)
        except DAMAGES as error:
            set_aside(file, Path(self.data_folder_in), file.name, error)
        # This process does not bind again what it has bound already.
        for binding, arguments in list(self.state.bindings.items()):
            if binding.exchange == exchange:
                kind = self.typeof(exchange)
                self._queue_bind(
                    exchange, *kind.prepare_bind(binding.queue, exchange, binding.routing_key, arguments or {})
                )
        return super().get_table(exchange)

    def _queue_bind(self, exchange: str, routing_key: str, pattern: Any, queue: str) -> None:
        """Add a binding to the file of `exchange`, which is replaced as a whole."""
        self.control_folder.mkdir(exist_ok=True)
        bound = filesystem.exchange_queue_t(routing_key or "", pattern or "", queue or "")
        table = self.get_table(exchange)
        if bound in table:
            return
        with locked(self.control_folder):
            # Read again: another process may have bound another queue meanwhile.
            write_whole(self._exchange_file(exchange), [bound, *super().get_table(exchange)])


class Transport(filesystem.Transport):
    """The transport with that channel."""

    Channel = Channel


def write_whole(file: Path, payload: Any) -> None:
    """Write `payload` as JSON to `file`, which is there completely or not at all. Raise ChannelError."""
    draft = file.with_name(f".{file.name}.{uuid.uuid4()}.draft")
    try:
        draft.write_text(dumps(payload))
        draft.rename(file)
    except OSError as error:
        with contextlib.suppress(OSError):
            draft.unlink(missing_ok=True)
        raise ChannelError(f"The message {file} cannot be written.") from error


def set_aside(file: Path, folder: Path, name: str, error: Exception) -> None:
    """Move `file`, which cannot be read because of `error`, to the folder of broken messages, and log it."""
    aside = folder / BROKEN_FOLDER / f"{time.time_ns()}_{name}"
    try:
        aside.parent.mkdir(exist_ok=True)
        file.rename(aside)
    except FileNotFoundError:
        # Another process has set it aside.
        return
    except OSError:
        # A full disk: the row that a lost hint names is found by the sweep.
        with contextlib.suppress(OSError):
            file.unlink(missing_ok=True)
    logger.warning("A message of the queue cannot be read (%s); it was set aside as %s.", type(error).__name__, aside)


@contextlib.contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Exclude other processes that lock `folder`."""
    file = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
    finally:
        os.close(file)
