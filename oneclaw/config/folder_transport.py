"""Celery's transport through a folder: each message becomes visible only once it is written completely."""

import contextlib
import time
import uuid
from pathlib import Path
from typing import Any

from kombu.exceptions import ChannelError
from kombu.transport import filesystem
from kombu.utils.json import dumps


class Channel(filesystem.Channel):
    """A channel that writes each message completely before it can be read."""

    # kombu itself names the second argument differently in its two base classes.
    def _put(self, queue: str, payload: Any, **kwargs: Any) -> None:  # type: ignore[override]
        """Write the message under a temporary name and rename it.

        kombu writes under the final name: a worker that read in between got an empty message, lost it and ended.
        """
        file = Path(self.data_folder_out, f"{round(time.monotonic() * 1000)}_{uuid.uuid4()}.{queue}.msg")
        draft = file.with_name(f".{file.name}.draft")
        try:
            draft.write_text(dumps(payload))
            draft.rename(file)
        except OSError as error:
            with contextlib.suppress(OSError):
                draft.unlink(missing_ok=True)
            raise ChannelError(f"The message {file} cannot be written.") from error


class Transport(filesystem.Transport):
    """The transport with that channel."""

    Channel = Channel
