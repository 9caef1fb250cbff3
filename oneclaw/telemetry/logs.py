"""Log lines as JSON, one object a line, for a collector (ONECLAW_LOG_FORMAT=json)."""

import logging
from typing import Any

from pythonjsonlogger.json import JsonFormatter

from oneclaw.telemetry.ids import current_ids


class JsonLines(JsonFormatter):
    """A line with time, level, logger and message, the ids of request and turn, and the exception if there is one."""

    def __init__(self) -> None:
        super().__init__(
            "{asctime}{levelname}{name}{message}",
            style="{",
            rename_fields={"asctime": "time", "levelname": "level", "name": "logger"},
            json_ensure_ascii=False,
        )

    def add_fields(self, log_data: dict[str, Any], record: logging.LogRecord, message_dict: dict[str, Any]) -> None:
        """Add the ids to the fields of the line."""
        super().add_fields(log_data, record, message_dict)
        log_data.update(current_ids())
