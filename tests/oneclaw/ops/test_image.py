"""Commands in an installation that is laid out like the image: a folder that only root may write, no .venv, an account
without privileges, and `python manage.py` as the way in.

No engine is needed for that; tests/oneclaw/ops/test_compose.py compares the same with the Dockerfile.
"""

import contextlib
import os
import re
import shlex
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from tests.stage import ROOT, House, fill, free_port, house, start_postgres

pytestmark = [pytest.mark.acceptance, pytest.mark.timeout(900)]
# Without root there is one account, which may not write the folder of the code either.
IS_ROOT = os.geteuid() == 0
# The account of the Dockerfile, and the one that many clusters give.
ACCOUNTS = (10001, 65534)
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
COMPOSE = re.compile(r"docker compose (?P<how>exec|run)(?: --?[\w-]+)* \w+ (?P<words>[^`#\n]+)")
# What ./oneclaw.sh does itself.
OF_THE_SCRIPT = {"run", "test", "week", "extra"}


def documented() -> list[tuple[str, tuple[str, ...]]]:
    """(exec or run, words after the name of the service) of each command of the pages."""
    commands = [
        (found["how"], tuple(shlex.split(found["words"])))
        for page in [*PAGES, ROOT / "docker-compose.yml"]
        for found in COMPOSE.finditer(page.read_text())
    ]
    return list(dict.fromkeys(commands))


class Image:
    """The installation in a folder of its own, and its data folder."""

    def __init__(self, found: House) -> None:
        self.house, self.app = found, found.folder / "app"
        ignored = shutil.ignore_patterns("__pycache__", "*.pyc", "node_modules", "data")
        for name in ("oneclaw", "chat", "memory", "templates", "static", "locale", "requirements"):
            shutil.copytree(ROOT / name, self.app / name, ignore=ignored)
        for name in ("manage.py", "pyproject.toml", "CHANGELOG.md", "oneclaw.sh"):
            shutil.copy(ROOT / name, self.app)
        for path in [*self.app.rglob("*"), self.app]:
            path.chmod(0o555 if path.is_dir() else 0o444)
        self.data = found.folder / "data"
        self.data.mkdir()
        self.environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(self.data),
            "ONECLAW_HOME": str(self.data),
            "PYTHONDONTWRITEBYTECODE": "1",
            "ANTHROPIC_API_KEY": "key",
            "ONECLAW_SECRET_KEY": "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOP",
            "ONECLAW_ORIGINS": "https://chat.example.org",
            "DATABASE_URL": found.environment["DATABASE_URL"],
        }

    def belong_to(self, account: int) -> None:
        """Hand over the data folder to `account`, as the volume of the image belongs to it."""
        for path in [self.data, *self.data.rglob("*")] if IS_ROOT else []:
            os.chown(path, account, account)

    def run(self, how: str, words: Sequence[str], account: int) -> subprocess.CompletedProcess[str]:
        """Run what `docker compose` would: for `run` the words follow the way in, for `exec` they are all."""
        words = [word.replace("/data/", f"{self.data}/") for word in words]
        _python, *rest = words if how == "exec" else ["python", "manage.py", *words]
        as_account = ["setpriv", "--reuid", str(account), "--regid", str(account), "--clear-groups"]
        return subprocess.run(
            [*(as_account if IS_ROOT else []), sys.executable, *rest],
            cwd=self.app,
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=250,
        )


@contextlib.contextmanager
def passable(folder: Path) -> Iterator[None]:
    """Let other accounts pass to `folder`, in which Python's packages are, as those of the image are for everybody."""
    closed = {each: each.stat().st_mode for each in (folder, *folder.parents) if not each.stat().st_mode & 0o001}
    for each, mode in closed.items():
        each.chmod(mode | 0o001)
    yield
    for each, mode in closed.items():
        each.chmod(mode)


@pytest.fixture(scope="module")
def image():
    with passable(Path(sys.prefix)), house() as found:
        port = free_port()
        found.environment["DATABASE_URL"] = f"postgresql://oneclaw@127.0.0.1:{port}/oneclaw"
        start_postgres(found, port)
        fill(found, found.environment["DATABASE_URL"])
        yield Image(found)


def test_the_pages_name_no_command_that_the_image_lacks():
    commands = documented()
    assert {"adduser", "backup"} <= {word for _, words in commands for word in words}
    for how, words in commands:
        assert "oneclaw.sh" not in " ".join(words)
        assert how == "run" or words[:2] == ("python", "manage.py")


def test_each_documented_command_works_for_an_account_without_privileges(image: Image):
    account = ACCOUNTS[0]
    image.belong_to(account)
    for how, words in documented():
        done = image.run(how, words, account)
        assert done.returncode == 0, f"{words}: {done.stdout}{done.stderr}"
        assert "Traceback" not in done.stdout + done.stderr
    with tarfile.open(image.data / "backup.tar") as backup:
        assert "manifest.json" in backup.getnames()
    assert (image.data / "backup.tar").stat().st_uid == (account if IS_ROOT else os.geteuid())
    # Every other command of the pages exists there.
    known = set(image.run("run", ["help", "--commands"], account).stdout.split())
    named = {name for page in PAGES for name in re.findall(r"\./oneclaw\.sh ([a-z_]+)", page.read_text())}
    assert named - OF_THE_SCRIPT <= known


def test_a_backup_is_written_by_any_account_that_owns_the_data_folder(image: Image):
    image.belong_to(ACCOUNTS[1])
    (image.data / "backup.tar").unlink(missing_ok=True)
    done = image.run("exec", ["python", "manage.py", "backup", "/data/backup.tar"], ACCOUNTS[1])
    assert done.returncode == 0, done.stderr
    assert (image.data / "backup.tar").stat().st_uid == (ACCOUNTS[1] if IS_ROOT else os.geteuid())
