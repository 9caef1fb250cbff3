"""Keep the machine out of the tests: no variable that the product reads, and a data folder that no other run uses.

pyproject.toml loads this as a pytest plugin, because Django's settings are read before any conftest.py.
"""

import fcntl
import itertools
import os
import tempfile
from pathlib import Path

# What the settings, the libraries below them and libpq read from the environment.
PREFIXES = ("ONECLAW_", "ANTHROPIC_", "OPENAI_", "GEMINI_", "CELERY_", "DJANGO_", "OTEL_", "PG")
NAMES = ("DATABASE_URL", "DATABASE_URL_FILE", "REDIS_URL", "REDIS_URL_FILE", "HOST", "PORT")


def isolate() -> None:
    """Remove the product's variables from this process and what it starts, and give it a data folder of its own."""
    for name in filter(is_read_by_the_product, list(os.environ)):
        del os.environ[name]
    os.environ["ONECLAW_HOME"] = str(free_data_folder())


def is_read_by_the_product(name: str) -> bool:
    """Return whether this variable, were it set outside, would change what the product does."""
    return name.startswith(PREFIXES) or name in NAMES or name.lower().endswith("_proxy")


def free_data_folder() -> Path:
    """Lock the first folder that no other run holds, until this process ends, however it ends.

    The migrated database that an earlier run left there is used again (tests/template.py).
    """
    for number in itertools.count():
        folder = Path(tempfile.gettempdir()) / f"oneclaw-tests-{os.getuid()}-{number}"
        folder.mkdir(mode=0o755, exist_ok=True)
        # A descriptor, which stays open for as long as this process lives.
        lock = os.open(folder / "lock", os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(lock)
            continue
        return folder
    raise AssertionError("Numbers do not end.")


# The processes that xdist starts inherit what the first process has prepared.
if "PYTEST_XDIST_WORKER" not in os.environ:
    isolate()
