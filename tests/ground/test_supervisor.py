"""The supervisor starts children again, ends them with itself, and waits for nobody for ever."""

import signal
import subprocess
import sys
import time

import pytest

from tests.stage import ROOT, lives, until

SCRIPT = """
import os, signal, sys, time
from functools import partial
from pathlib import Path
import django
django.setup()
from oneclaw.supervisor import Child, supervise

def note(name):
    with open(sys.argv[1] + "/" + name, "a") as file:
        print(os.getpid(), time.monotonic(), file=file)

def ends():
    note("ends")

def deaf():
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    note("deaf")
    time.sleep(600)

def stays():
    note("stays")
    time.sleep(600)

def look():
    if os.path.exists(sys.argv[1] + "/break"):
        raise RuntimeError("broken")

children = [Child(name, globals()[name], patience=1) for name in sys.argv[2:]]
supervise(children, {}, look)
"""


@pytest.fixture
def supervisor(tmp_path):
    """Start a supervisor of children that do what their name says; `notes(name)` is what one wrote at its starts."""
    started = []

    def start(*children):
        command = [sys.executable, "-c", SCRIPT, tmp_path, *children]
        process = subprocess.Popen(command, cwd=ROOT, stderr=subprocess.PIPE, text=True)
        started.append(process)
        return process

    yield start
    for process in started:
        process.kill()
        process.wait()
        process.stderr.close()


@pytest.fixture
def notes(tmp_path):
    def read(name):
        file = tmp_path / name
        lines = file.read_text().splitlines() if file.exists() else []
        return [(int(line.split()[0]), float(line.split()[1])) for line in lines]

    return read


def test_a_child_that_ends_by_itself_starts_again_later_each_time(supervisor, notes):
    process = supervisor("ends")
    until(lambda: len(notes("ends")) >= 3, 30)
    (_, first), (_, second), (_, third), *_ = notes("ends")
    assert second - first >= 0.5
    assert third - second >= 1.0
    process.terminate()
    assert process.wait(10) == 0
    assert "The ends ended with 0; it starts again in 0.5 s." in process.stderr.read()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_told_to_end_it_ends_its_children_and_the_deaf_by_force(supervisor, notes, number):
    process = supervisor("stays", "deaf")
    until(lambda: notes("stays") and notes("deaf"), 30)
    begun = time.monotonic()
    process.send_signal(number)
    assert process.wait(20) == 0
    assert time.monotonic() - begun >= 1
    assert not lives(notes("stays")[0][0])
    assert not lives(notes("deaf")[0][0])


def test_killed_it_takes_its_children_along(supervisor, notes):
    process = supervisor("stays", "deaf")
    until(lambda: notes("stays") and notes("deaf"), 30)
    process.kill()
    until(lambda: not lives(notes("stays")[0][0]) and not lives(notes("deaf")[0][0]))


def test_a_mistake_of_its_own_leaves_no_child_behind(supervisor, notes, tmp_path):
    process = supervisor("stays")
    until(lambda: notes("stays"), 30)
    (tmp_path / "break").touch()
    assert process.wait(20) == 1
    assert "RuntimeError: broken" in process.stderr.read()
    assert not lives(notes("stays")[0][0])
