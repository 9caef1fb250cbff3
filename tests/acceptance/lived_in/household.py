"""The two set-ups in which a team lives: their real processes, their moved clock, and a release in the middle.

with alone(monday, from_nothing=True) as household:     # the README's command, with nothing set
with together(monday, model_url) as household:          # PostgreSQL, Redis, two webs, two workers and beat
    household.pass_to(moment)
    household.settle()
    household.release()
"""

import contextlib
import datetime as dt
import json
import re
import time
from collections.abc import Iterator
from typing import Any

from tests.acceptance.lived_in.clock import MovedClock
from tests.faults.commands import CommandFailedError, Commands
from tests.stage import House, embedded, embedded_again, open_folder, team

# Beat looks every five seconds what is due, and it may be busy.
SETTLE_SECONDS = 120
# Many processes that start at once on a busy machine take their time.
READY_SECONDS = 300
# How long nothing may be left to do before it counts as settled: what beat has sent after a jump of the clock has begun
# by then.
QUIET_SECONDS = 2.0
PRODUCT_ERROR = re.compile(r"^\S+ \S+ (ERROR|CRITICAL) |^Traceback \(most recent call last\)")
# What a person sets who sets nothing; other tests of real processes have no titles.
DEFAULTS = {"ONECLAW_TITLES": "yes"}
# A unique constraint is how the product lets the database decide who goes first.
POSTGRES_ERROR = re.compile(r" (ERROR|PANIC): (?! duplicate key value)")


class Household:
    """A running house with a moved clock."""

    def __init__(self, house: House, clock: MovedClock) -> None:
        self.house, self.clock = house, clock
        house.wait_until_ready(READY_SECONDS)
        self.commands = Commands(house)

    def run(self, *arguments: str) -> str:
        """Run a management command; its output."""
        return self.commands.run(*arguments)

    def pass_to(self, moment: dt.datetime) -> None:
        """Let the time until `moment` pass, and beat and workers notice it."""
        self.clock.move_to(moment)
        self.house.wait_until_ready(READY_SECONDS)

    def settle(self) -> None:
        """Wait until nothing is left to do for memory."""
        quiet_since = None
        deadline = time.monotonic() + SETTLE_SECONDS
        while quiet_since is None or time.monotonic() - quiet_since < QUIET_SECONDS:
            left = self._left()
            if left:
                quiet_since = None
            elif quiet_since is None:
                quiet_since = time.monotonic()
            assert time.monotonic() < deadline, f"This is never done: {left}"
            time.sleep(0.1)

    def _left(self) -> dict[str, Any]:
        """Return what memory has still to do, without what waits for another try because of an error."""
        status = json.loads(self.run("memory", "status", "--json"))
        flushes, errands = status["flushes"], status["errands"]
        left = {
            "to index": status["to_index"],
            "to mirror": status["to_mirror"],
            "flushes": flushes["idle"] + flushes["queued"] + flushes["running"] - flushes["failing"],
            "errands": errands["waiting"] - errands["failing"],
        }
        return {name: count for name, count in left.items() if count > 0}

    def release(self) -> None:
        """Replace every process of the product by a new one."""
        raise NotImplementedError

    def violations(self) -> list[str]:
        """Return what `manage.py check_invariants` finds."""
        try:
            self.run("check_invariants")
        except CommandFailedError as error:
            return str(error).splitlines()
        return []

    def error_lines(self) -> list[str]:
        """Return the lines of all logs that say an error."""
        found = []
        logs = {*self.house.folder.glob("*.log"), *self.house.home.glob("*.log")}
        for log in sorted(logs):
            error = POSTGRES_ERROR if log.name == "postgres.log" else PRODUCT_ERROR
            lines = log.read_text(errors="replace").splitlines()
            found += [f"{log.name}: {line}" for line in lines if error.search(line)]
        return found


class Alone(Household):
    """`oneclaw serve` with nothing set: the demo model answers."""

    def release(self) -> None:
        """Stop everything, the database too, and start it again."""
        self.commands.end()
        self.house["serve"].stop()
        self.house["serve"].start()
        self.house.wait_until_ready(READY_SECONDS)
        self.commands = Commands(self.house)


class Together(Household):
    """Two webs, two workers and beat, replaced one after the other while the others serve."""

    def release(self) -> None:
        """Replace the workers, beat, and one web after the other, as docs/deploy.md has it."""
        for names in (("worker", "worker2", "beat"), ("web1",), ("web2",)):
            for name in names:
                self.house[name].stop()
                self.house[name].start()
            self.house.wait_until_ready(READY_SECONDS)


@contextlib.contextmanager
def alone(begin: dt.datetime, *, from_nothing: bool) -> Iterator[Household]:
    """Start the README's command with nothing set, at the moment `begin`. `from_nothing`: it makes its tables, which
    takes most of a minute, and does not find a copy."""
    with open_folder() as folder:
        clock = MovedClock(folder)
        clock.move_to(begin)
        start = embedded if from_nothing else embedded_again
        with start(**DEFAULTS, **clock.environment) as house:
            yield from _lived_in(Alone(house, clock))


@contextlib.contextmanager
def together(begin: dt.datetime, model_url: str) -> Iterator[Household]:
    """Start a team's set-up, whose model is at `model_url`, at the moment `begin`."""
    with open_folder() as folder:
        clock = MovedClock(folder)
        clock.move_to(begin)
        model = {"ANTHROPIC_API_KEY": "key", "ANTHROPIC_BASE_URL": model_url}
        with team(**DEFAULTS, **model, **clock.environment) as house:
            house.serve("worker2", "worker")
            yield from _lived_in(Together(house, clock))


def _lived_in(household: Household) -> Iterator[Household]:
    try:
        yield household
    finally:
        household.commands.end()
