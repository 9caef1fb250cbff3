"""Run a reader of files in a process of its own, without the keys and passwords of this one."""

import json
import logging
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from typing import IO, Any

from django.conf import settings

logger = logging.getLogger(__name__)

# The end of stderr that is logged.
LOGGED_MAX_BYTES = 500
# The environment variables that the process gets.
ENVIRONMENT_NAMES = ("PATH", "LD_LIBRARY_PATH", "LANG")
# How often `watch` is called.
WATCH_SECONDS = 0.5

Line = dict[str, Any]


def read_in_process(
    module: str,
    arguments: Sequence[str],
    data: bytes,
    timeout_seconds: float,
    output_max_bytes: int,
    watch: Callable[[int], None] | None = None,
) -> list[Line]:
    """Return the lines of JSON that `python -m module arguments` prints of `data`, as far as it came.

    `watch` is called again and again with the number of lines so far; an exception of it ends the process. A
    process that fails or takes more than `timeout_seconds` is logged.
    """
    # Output goes to files, whose size the process limits itself (RLIMIT_FSIZE).
    with tempfile.TemporaryFile() as stdin, tempfile.TemporaryFile() as stdout, tempfile.TemporaryFile() as stderr:
        stdin.write(data)
        stdin.seek(0)
        process = subprocess.Popen(
            [sys.executable, "-s", "-m", module, *arguments],
            stdin=stdin,
            stdout=stdout,
            stderr=stderr,
            cwd=settings.BASE_DIR,
            env={name: os.environ[name] for name in ENVIRONMENT_NAMES if name in os.environ},
        )
        try:
            is_in_time = _wait(process, timeout_seconds, stdout.fileno(), watch)
        finally:
            if process.poll() is None:
                process.kill()
            process.wait()
        if not is_in_time or process.returncode:
            problem = f"status {process.returncode}" if is_in_time else "it took too long"
            logger.info("A file (%s) could not be read to its end: %s", arguments[0], problem)
            # What the process printed may quote the file.
            logger.debug("The process printed: %s", _end_of(stderr).decode(errors="replace"))
        stdout.seek(0)
        output = stdout.read(output_max_bytes)
    # A line without a newline is incomplete.
    return [json.loads(line) for line in output.splitlines(keepends=True) if line.endswith(b"\n")]


def _wait(process: subprocess.Popen[bytes], seconds: float, output: int, watch: Callable[[int], None] | None) -> bool:
    """Wait for the end of `process`, and return whether it came within `seconds`."""
    deadline = time.monotonic() + seconds
    counted_bytes = lines = 0
    while (left := deadline - time.monotonic()) > 0:
        try:
            process.wait(min(WATCH_SECONDS, left) if watch else left)
            return True
        except subprocess.TimeoutExpired:
            if watch is None:
                continue
        # Without moving the position in the file, which the process shares.
        while written := os.pread(output, 1 << 20, counted_bytes):
            counted_bytes += len(written)
            lines += written.count(b"\n")
        watch(lines)
    return False


def _end_of(stream: IO[bytes]) -> bytes:
    stream.seek(max(0, stream.seek(0, os.SEEK_END) - LOGGED_MAX_BYTES))
    return stream.read(LOGGED_MAX_BYTES) or b"it ended without a word"
