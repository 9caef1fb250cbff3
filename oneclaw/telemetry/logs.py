"""Log lines as text or, for a collector, as JSON, one object a line (ONECLAW_LOG_FORMAT).

Neither holds the message of an exception, which may quote what people or models wrote: of an exception, a line has the
types and frames of its whole chain. At the level debug, at which logs may quote conversations anyway, they keep
messages.
"""

import logging
from collections.abc import Mapping
from typing import Any

from pythonjsonlogger.json import JsonFormatter

from oneclaw.telemetry.ids import current_ids
from oneclaw.telemetry.tracebacks import named, without_messages

# The page by which other programs ask whether this one is ready.
PROBE_PATH = "/readyz"
# What libraries add to their records, and is a number; the others are objects, such as a whole request with its query.
EXTRA_NUMBERS = ("status_code",)
# What Celery tells of a task, as text that may quote: its arguments and result, its exception and traceback.
CELERY_QUOTING = ("args", "kwargs", "return_value", "exc", "traceback")


class TextLines(logging.Formatter):
    """A line with time, level, logger and message, and below it the exception if there is one."""

    def __init__(self) -> None:
        super().__init__("{asctime} {levelname} {name} {message}", style="{")

    def format(self, record: logging.LogRecord) -> str:
        """Return the line of `record`."""
        return super().format(unquoting(record))

    def formatException(self, ei: Any) -> str:
        """Return the exception of a record below its message."""
        return super().formatException(ei) if is_quoting_allowed() else without_messages(ei[1])


class JsonLines(JsonFormatter):
    """A line with time, level, logger and message, the ids of request and turn, and the exception if there is one."""

    def __init__(self) -> None:
        super().__init__("{asctime}{message}", style="{", json_ensure_ascii=False)

    def format(self, record: logging.LogRecord) -> str:
        """Return the line of `record`."""
        return super().format(unquoting(record))

    def formatException(self, ei: Any) -> str:
        """Return the exception of a record as one text."""
        return str(super().formatException(ei)) if is_quoting_allowed() else without_messages(ei[1])

    def add_fields(self, log_data: dict[str, Any], record: logging.LogRecord, message_dict: dict[str, Any]) -> None:
        """Add the fields of the line, and of what a library has added to the record only what cannot quote."""
        log_data.update(time=record.asctime, level=record.levelname, logger=record.name, message=record.message)
        log_data.update({name: message_dict[name] for name in ("exc_info", "stack_info") if name in message_dict})
        extra = {name: record.__dict__.get(name) for name in EXTRA_NUMBERS}
        log_data.update({name: value for name, value in extra.items() if isinstance(value, int)})
        log_data.update(current_ids())


class NoProbes(logging.Filter):
    """Leaves out the lines about /readyz: that it is not ready yet is its answer, asked for every few seconds."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Return whether the line is about another page."""
        return getattr(getattr(record, "request", None), "path", "") != PROBE_PATH


def is_quoting_allowed() -> bool:
    """Return whether the log level is debug, at which logs may quote conversations (docs/settings.md)."""
    return logging.root.level <= logging.DEBUG


def unquoting(record: logging.LogRecord) -> logging.LogRecord:
    """Return a copy of `record` that names the exceptions among its arguments, instead of quoting their messages.

    An exception of ours with more to say has the attribute `text_for_logs`, which quotes nothing.
    """
    if is_quoting_allowed():
        return record
    copy = logging.makeLogRecord(record.__dict__)
    # What another handler made of the exception, with its messages.
    copy.exc_text = None
    # Without an exception there is nothing to format: `exc_info=True` outside of a handler.
    copy.exc_info = record.exc_info if record.exc_info and record.exc_info[1] else None
    copy.msg = _argument(record.msg)
    library = record.name.partition(".")[0]
    if library == "asyncio" and not record.args:
        # Further lines are the futures and callbacks concerned, with their exceptions and results.
        copy.msg = str(record.msg).partition("\n")[0]
    if isinstance(record.args, Mapping):
        hidden = CELERY_QUOTING if library == "celery" else ()
        copy.args = {name: "…" if name in hidden else _argument(value) for name, value in record.args.items()}
    elif record.args:
        copy.args = tuple(_argument(value) for value in record.args)
    try:
        copy.msg = copy.getMessage()
    except Exception:  # noqa: BLE001
        # Arguments that do not fit, or cannot be written: logging would print them, with a traceback.
        copy.msg = str(copy.msg)
    copy.args = None
    return copy


def _argument(value: Any) -> Any:
    if not isinstance(value, BaseException):
        return value
    text = getattr(value, "text_for_logs", None)
    return text if isinstance(text, str) else named(value)
