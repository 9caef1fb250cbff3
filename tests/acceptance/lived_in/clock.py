"""A clock that moves for all processes of a house at once: web, worker, beat, commands and PostgreSQL.

clock = MovedClock(folder)
house.environment |= clock.environment
clock.move_to(clock.now() + dt.timedelta(days=1))
"""

import datetime as dt
import math
import mmap
import struct
import subprocess
import time
from pathlib import Path

SOURCE = Path(__file__).with_name("clock.c")
SECONDS = struct.Struct("=q")


class MovedClock:
    """The time of a house: the machine's, moved by seconds that stand in a file of `folder`."""

    def __init__(self, folder: Path) -> None:
        library, file = folder / "clock.so", folder / "clock-shift"
        subprocess.run(["cc", "-O2", "-shared", "-fPIC", "-o", library, SOURCE, "-ldl"], check=True)
        file.write_bytes(SECONDS.pack(0))
        # The account of PostgreSQL reads both.
        library.chmod(0o755)
        file.chmod(0o644)
        self.environment = {"LD_PRELOAD": str(library), "CLOCK_SHIFT": str(file)}
        with open(file, "r+b") as opened:
            self._mapped = mmap.mmap(opened.fileno(), SECONDS.size)

    @property
    def shift_seconds(self) -> int:
        """Return by how much the clock is moved."""
        return SECONDS.unpack(self._mapped[:])[0]

    def now(self) -> dt.datetime:
        """Return the time of the house."""
        return dt.datetime.fromtimestamp(time.time() + self.shift_seconds, dt.UTC)

    def move_to(self, moment: dt.datetime) -> None:
        """Let it be `moment` in the house. It never goes back."""
        shift = math.ceil(moment.timestamp() - time.time())
        assert shift >= self.shift_seconds, f"{moment} has passed."
        self._mapped[:] = SECONDS.pack(shift)
