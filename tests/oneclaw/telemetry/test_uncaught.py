"""What ends a process or a thread is logged like any other exception: in a process of its own."""

import json
import os
import subprocess
import sys

import pytest

from tests.stage import ROOT

WORD = "zyzzyva"
PROCESS = """
import django, threading
django.setup()
from oneclaw.telemetry import uncaught
uncaught.begin()
def fail():
    raise ValueError("bad zyzzyva")
class Failing:
    def __del__(self):
        fail()
"""


@pytest.mark.parametrize(
    ("ending", "message", "status"),
    [
        ("fail()", "The process ends, because of what it did not catch.", 1),
        (
            "thread = threading.Thread(target=fail); thread.start(); thread.join()",
            "A thread ends, because of what it did not catch.",
            0,
        ),
        ("Failing()", "An exception could not be raised.", 0),
    ],
    ids=["process", "thread", "finaliser"],
)
def test_it_is_one_line_of_json_without_its_message(ending, message, status):
    environment = os.environ | {"DJANGO_SETTINGS_MODULE": "oneclaw.settings", "ONECLAW_LOG_FORMAT": "json"}
    command = [sys.executable, "-c", PROCESS + ending]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    assert done.returncode == status
    (line,) = done.stderr.splitlines()
    found = json.loads(line)
    assert found["message"] == message
    assert found["exc_info"].splitlines()[-1] == "ValueError"
    assert "in fail" in found["exc_info"]
    assert WORD not in line
