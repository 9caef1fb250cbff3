"""Options of Celery's message broker: Redis, or a folder."""

from pathlib import Path
from typing import Any

from kombu.transport import TRANSPORT_ALIASES

# The URL of kombu's filesystem transport.
FOLDER_URL = "filesystem://localhost"
TRANSPORT_ALIASES["filesystem"] = "oneclaw.config.folder_transport:Transport"
TRANSPORT_ALIASES["redis"] = "oneclaw.config.redis_transport:RedisTransport"


def redis_options() -> dict[str, Any]:
    """Return the options of kombu's Redis transport; times in seconds."""
    return {
        "visibility_timeout": 300,
        "socket_timeout": None,
        # Enqueueing fails within two seconds when Redis is down; the sweep finds the row later.
        "socket_connect_timeout": 2,
        "connect_retries_timeout": 1,
        "max_retries": 1,
        "interval_start": 0,
        "interval_step": 0.1,
        "interval_max": 0.1,
    }


def folder_options(folder: Path) -> dict[str, Any]:
    """Return the options of kombu's filesystem transport through `folder`, which is created; times in seconds."""
    control = folder / "control"
    control.mkdir(parents=True, exist_ok=True)
    return {
        "data_folder_in": str(folder),
        "data_folder_out": str(folder),
        "control_folder": str(control),
        "polling_interval": 0.1,
    }
