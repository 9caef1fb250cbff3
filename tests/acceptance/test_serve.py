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

pytestmark = [pytest.mark.acceptance, pytest.mark.timeout(240)]


@pytest.fixture(scope="module")
def folder():
    """One data folder for all starts of this file: the first makes the database, the others find it."""
    with open_folder() as folder:
        yield folder


def children_by_age(supervisor):
    return sorted(set(family(supervisor)) - {supervisor})


def test_it_answers_is_ready_and_offers_the_first_account(folder):
    with embedded(folder) as one:
        one.wait_until_ready()
        assert one.get("/healthz") == (200, "ok\n")
        said = one["serve"].said()
        assert f"OneClaw runs at {one.url}" in said
        assert "demo model" in said
        link = re.search(rf"Make the first account: {one.url}(/\S+)", said)
        assert link
        assert one.get(link[1])[0] == 200


def test_ctrl_c_stops_everything_and_postgresql_last(folder):
    with embedded(folder) as one:
        one.wait_until_ready()
        supervisor, server = one["serve"].process, server_of(one.home)
        processes = everything(one.home, supervisor.pid)
        children = set(family(supervisor.pid)) - {supervisor.pid}
        assert len(children) == 4
        supervisor.send_signal(signal.SIGINT)
        remaining = children
        while lives(server):
            remaining = living(children)
        assert not remaining
        assert supervisor.wait(20) == 0
        until(lambda: not living(processes))
        assert "Traceback" not in one["serve"].said()


def test_a_killed_supervisor_leaves_nothing_running(folder):
    with embedded(folder) as one:
        one.wait_until_ready()
        processes = everything(one.home, one["serve"].pid)
        assert len(processes) > 8
        one["serve"].kill()
        until(lambda: not living(processes))


def test_whatever_is_killed_comes_back(folder):
    with embedded(folder, ANTHROPIC_API_KEY="key") as one:
        one.wait_until_ready()
        supervisor = one["serve"].pid
        web, worker, beat = children_by_age(supervisor)
        for process in (web, worker, beat):
            os.kill(process, signal.SIGKILL)
        until(lambda: len(set(family(supervisor)) - {supervisor, web, worker, beat}) == 3)
        one.wait_until_ready()
        keeper = guardian_of(one.home)
        os.kill(keeper, signal.SIGKILL)
        until(lambda: guardian_of(one.home) not in (0, keeper))
        one.wait_until_ready()


def test_a_second_one_on_the_same_port_says_that_it_is_taken(folder):
    with embedded(folder) as one:
        one.wait_until_ready()
        port = one.url.rsplit(":", 1)[1]
        said = refusal(one.environment, PORT=port)
        assert f"Port {port} is taken" in said
        assert one.get("/healthz")[0] == 200


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
