"""How Celery's messages travel: through Redis, or through a folder."""

from pathlib import Path
from typing import Any

from kombu.transport import TRANSPORT_ALIASES

# The address of the transport through a folder.
FOLDER = "filesystem://localhost"
TRANSPORT_ALIASES["filesystem"] = "oneclaw.folder_transport:Transport"


def redis_options() -> dict[str, Any]:
    """Of kombu's Redis transport; times in seconds."""
    return {
        "visibility_timeout": 300,
        "socket_timeout": None,
        # Whoever enqueues learns within two seconds that Redis is down, and goes on: the sweep finds the row.
        "socket_connect_timeout": 2,
        "connect_retries_timeout": 1,
        "max_retries": 1,
        "interval_start": 0,
        "interval_step": 0.1,
        "interval_max": 0.1,
    }


def folder_options(folder: Path) -> dict[str, Any]:
    """Of kombu's transport through `folder`, which is made; it looks into it each `polling_interval` seconds."""
    control = folder / "control"
    control.mkdir(parents=True, exist_ok=True)
    return {
        "data_folder_in": str(folder),
        "data_folder_out": str(folder),
        "control_folder": str(control),
        "polling_interval": 0.1,
    }
