"""One command starts everything, and everything ends with it."""

import os
import re
import signal
import subprocess
import sys

import pytest

from tests.stage import (
    ROOT,
    embedded,
    everything,
    family,
    free_port,
    guardian_of,
    house,
    lives,
    living,
    open_folder,
    server_of,
    until,
)

# Beside the faults: it kills what it starts, and each start of all processes takes its seconds.
pytestmark = [pytest.mark.acceptance, pytest.mark.faults, pytest.mark.timeout(240)]


@pytest.fixture(scope="module")
def folder():
    """One data folder for all starts of this file: the first makes the database, the others find it."""
    with open_folder() as folder:
        yield folder


@pytest.fixture(scope="module")
def running(folder):
    """One start for the tests that leave it running."""
    with embedded(folder) as one:
        one.wait_until_ready()
        yield one


def children_of(supervisor):
    return set(family(supervisor)) - {supervisor}


def test_it_answers_is_ready_and_offers_the_first_account(running):
    assert running.get("/healthz") == (200, "ok\n")
    until(lambda: "demo model" in running["serve"].said(), 20, "all was said")
    said = running["serve"].said()
    assert f"OneClaw runs at {running.url}" in said
    link = re.search(rf"Make the first account: {running.url}(/\S+)", said)
    assert link
    assert running.get(link[1])[0] == 200
    assert (running.home / "address").read_text() == f"{running.url}\n"


def test_a_second_one_on_the_same_port_says_that_it_is_taken(running):
    port = running.url.rsplit(":", 1)[1]
    assert f"Port {port} is taken" in refusal(running.environment, PORT=port)
    assert running.get("/healthz")[0] == 200


def test_whatever_is_killed_comes_back(running):
    supervisor = running["serve"].pid
    killed, keeper = children_of(supervisor), guardian_of(running.home)
    assert len(killed) == 4
    for process in killed:
        os.kill(process, signal.SIGKILL)
    until(lambda: len(children_of(supervisor) - killed) == 4)
    running.wait_until_ready()
    os.kill(keeper, signal.SIGKILL)
    until(lambda: guardian_of(running.home) not in (0, keeper))
    running.wait_until_ready()


def test_ctrl_c_stops_everything_and_postgresql_last(running):
    supervisor, server = running["serve"].process, server_of(running.home)
    processes = everything(running.home, supervisor.pid)
    children = children_of(supervisor.pid)
    supervisor.send_signal(signal.SIGINT)
    remaining = children
    while lives(server):
        remaining = living(children)
    assert not remaining
    assert supervisor.wait(20) == 0
    until(lambda: not living(processes))
    assert "Traceback" not in running["serve"].said()


def test_a_killed_supervisor_leaves_nothing_running(running):
    if running["serve"].process.poll() is not None:
        running["serve"].start()
        running.wait_until_ready()
    processes = everything(running.home, running["serve"].pid)
    assert len(processes) > 8
    running["serve"].kill()
    until(lambda: not living(processes))


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ({"ONECLAW_HOME": "/etc/hostname/data"}, "The data folder /etc/hostname/data cannot be made"),
        ({"ONECLAW_HOME": "/proc/data"}, "The data folder /proc/data cannot be made"),
        ({"PORT": "eighty"}, "PORT is “eighty”; it must be a number."),
        ({"HOST": "192.0.2.1"}, "HOST=192.0.2.1"),
        ({"ONECLAW_ALLOWED_HOSTS": "*"}, "ONECLAW_ALLOWED_HOSTS may not be *"),
        ({"DATABASE_URL": "mysql://localhost/x"}, "DATABASE_URL is not an address that starts with postgresql://"),
        ({"DATABASE_URL": "postgresql://oneclaw@127.0.0.1:1/oneclaw"}, "DATABASE_URL cannot be reached"),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
def test_what_is_wrong_is_said_in_one_sentence(wrong, sentence):
    with house() as none:
        assert sentence in refusal(none.environment, **{"PORT": str(free_port()), **wrong})


def refusal(environment, **settings):
    """What `oneclaw serve` says on standard error when it does not start."""
    command = [sys.executable, "manage.py", "serve"]
    found = subprocess.run(command, env=environment | settings, cwd=ROOT, capture_output=True, text=True, timeout=60)
    assert found.returncode != 0
    assert "Traceback" not in found.stderr
    assert len(found.stderr.strip().splitlines()) == 1
    return found.stderr
