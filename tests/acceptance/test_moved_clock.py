"""The clock of running processes is moved for all of them at once; how long they wait stays right."""

import datetime as dt
import subprocess
import sys
import time
from pathlib import Path

from oneclaw.postgres import guardian
from tests.acceptance.lived_in.clock import MovedClock

READER = "import sys, time\nfor line in sys.stdin: print(time.time(), time.monotonic(), flush=True)"
WEEK_SECONDS = 7 * 24 * 3600


def test_a_week_passes_in_a_running_process_and_no_time_by_its_monotonic_clock(tmp_path: Path):
    clock = MovedClock(tmp_path)
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen([sys.executable, "-c", READER], env=dict(clock.environment), **pipes) as process:

        def read() -> tuple[float, float]:
            process.stdin.write("\n")
            process.stdin.flush()
            wall, monotonic = map(float, process.stdout.readline().split())
            return wall, monotonic

        before, monotonic_before = read()
        assert abs(before - time.time()) < 60
        clock.move_to(dt.datetime.fromtimestamp(before + WEEK_SECONDS, dt.UTC))
        after, monotonic_after = read()
        process.stdin.close()
    assert WEEK_SECONDS <= after - before < WEEK_SECONDS + 60
    assert monotonic_after - monotonic_before < 60


def test_postgresql_is_started_with_the_clock_and_nothing_else_of_the_environment():
    passed = {"LD_PRELOAD": "/clock.so", "CLOCK_SHIFT": "/shift"}
    assert guardian.environment({**passed, "PGHOST": "elsewhere", "HOME": "/root"}) == {
        **guardian.environment({}),
        **passed,
    }
