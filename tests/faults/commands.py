"""Run management commands in one process of a house: to start one for each command takes longer than most tests."""

import contextlib
import json
import signal
import subprocess
import sys
import threading
from typing import Any

from oneclaw.postgres import guardian
from tests.stage import ROOT, House

# Seconds.
COMMAND_TIMEOUT = 60
# A line of JSON with the arguments comes in, and a line with the exit code and the output goes out.
LOOP = """
import contextlib, io, json, sys, traceback
import django
django.setup()
from django.core.management import CommandError, call_command
from django.db import close_old_connections
for line in sys.stdin:
    output, code = io.StringIO(), 0
    close_old_connections()
    try:
        with contextlib.redirect_stdout(output):
            call_command(*json.loads(line), stdout=output)
    except CommandError as error:
        code = error.returncode
        output.write(str(error))
    except Exception:
        code = 1
        output.write(traceback.format_exc())
    close_old_connections()
    print(json.dumps([code, output.getvalue()]), flush=True)
"""


class CommandFailedError(Exception):
    """A management command ended with another exit code than 0; the message is what it printed."""


class Commands:
    """A process that runs management commands one after the other, in the environment of a house."""

    def __init__(self, house: House) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", LOOP],
            env=house.environment,
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            preexec_fn=guardian.dies_with_parent(signal.SIGKILL),
        )

    def run(self, *arguments: str) -> str:
        """Run one command; its output."""
        assert self.process.stdin
        assert self.process.stdout
        late = threading.Timer(COMMAND_TIMEOUT, self.process.kill)
        late.start()
        try:
            self.process.stdin.write(json.dumps(arguments) + "\n")
            self.process.stdin.flush()
            answer: list[Any] = json.loads(self.process.stdout.readline() or '[1, "The process has ended."]')
        finally:
            late.cancel()
        code, output = answer
        if code:
            raise CommandFailedError(output)
        return str(output)

    def end(self) -> None:
        with contextlib.suppress(BrokenPipeError):
            self.process.communicate(timeout=COMMAND_TIMEOUT)
