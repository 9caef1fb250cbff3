"""The supervisor starts children again, ends them with itself, and waits for nobody for ever."""

import os
import signal
import time
from types import SimpleNamespace

import pytest

from oneclaw.ops import supervisor as supervision
from tests import actors
from tests.stage import lives, until


@pytest.fixture
def supervisor(tmp_path):
    """Start a supervisor of children that do what their name says; `notes(name)` is what one wrote at its starts."""
    started = []

    def start(*children):
        process, said = actors.started(actors.supervises, tmp_path, children)
        started.append((process, said))
        return process

    yield start
    for process, said in started:
        process.kill()
        process.join()
        said.close()


@pytest.fixture
def ended():
    """The exit code of a process, once it has ended."""

    def ended(process, seconds):
        process.join(seconds)
        return process.exitcode

    return ended


@pytest.fixture
def said(tmp_path):
    """What the supervisor has logged."""
    return lambda: (tmp_path / "said").read_text()


@pytest.fixture
def notes(tmp_path):
    def read(name):
        file = tmp_path / name
        lines = file.read_text().splitlines() if file.exists() else []
        return [(int(line.split()[0]), float(line.split()[1])) for line in lines]

    return read


def test_a_child_that_ends_by_itself_starts_again_later_each_time(supervisor, notes, ended, said):
    process = supervisor("ends")
    until(lambda: len(notes("ends")) >= 3, 30)
    (_, first), (_, second), (_, third), *_ = notes("ends")
    assert second - first >= 0.5
    assert third - second >= 1.0
    process.terminate()
    assert ended(process, 10) == 0
    assert said().count("The ends ended with 0; it starts again in 0.5 s, later if it ends again.") == 1


def test_how_often_a_child_had_ended_is_said_once_it_runs_again(caplog, monkeypatch):
    monkeypatch.setattr(supervision, "STABLE_SECONDS", 0.5)
    monkeypatch.setattr(supervision, "RESTART_FIRST_SECONDS", 0.0)
    child = supervision.Child("worker", lambda: None, stop_seconds=1)

    def run(exit_code):
        child.process, child._started_at, child._restart_at = (
            SimpleNamespace(exitcode=exit_code),
            time.monotonic(),
            None,
        )
        child.restart_if_due()

    for _ in range(3):
        run(1)
    run(None)
    assert caplog.text.count("The worker ended with 1") == 1
    time.sleep(0.6)
    child.restart_if_due()
    child.restart_if_due()
    assert caplog.text.count("The worker runs again; it had ended 3 times in a row, 3 times since the start.") == 1
    assert child.ends == 3


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_told_to_end_it_ends_its_children_and_the_deaf_by_force(supervisor, notes, ended, number):
    process = supervisor("stays", "deaf")
    until(lambda: notes("stays") and notes("deaf"), 30)
    begun = time.monotonic()
    os.kill(process.pid, number)
    assert ended(process, 20) == 0
    assert time.monotonic() - begun >= 1
    assert not lives(notes("stays")[0][0])
    assert not lives(notes("deaf")[0][0])


def test_killed_it_takes_its_children_along(supervisor, notes):
    process = supervisor("stays", "deaf")
    until(lambda: notes("stays") and notes("deaf"), 30)
    process.kill()
    until(lambda: not lives(notes("stays")[0][0]) and not lives(notes("deaf")[0][0]))


def test_a_mistake_of_its_own_leaves_no_child_behind(supervisor, notes, ended, said, tmp_path):
    process = supervisor("stays")
    until(lambda: notes("stays"), 30)
    (tmp_path / "break").touch()
    assert ended(process, 20) == 1
    assert "RuntimeError: broken" in said()
    assert not lives(notes("stays")[0][0])
