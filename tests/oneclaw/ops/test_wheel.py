"""The wheel has everything that a checkout serves, and runs from an empty folder."""

import lzma
import os
import re
import shutil
import signal
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.core.exceptions import ImproperlyConfigured

from oneclaw.config import release
from oneclaw.config.home import usual_home
from tests.stage import ROOT, House, free_port, house

# Packages, and what a wheel has of the other folders of a checkout.
PACKAGES = ("oneclaw", "chat", "memory")
SHIPPED = ("templates", "static", "locale", "requirements/saml.txt", "CHANGELOG.md")
# ./oneclaw.sh installs it into the environment, unless the machine has one.
UV = shutil.which("uv", path=f"{sys.prefix}/bin:{os.environ['PATH']}")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory) -> Path:
    """The wheel, built from this checkout by the hatchling of the test requirements."""
    folder = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(folder)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True, timeout=100)
    (built,) = folder.iterdir()
    return built


def files_of(name: str) -> Iterator[Path]:
    path = ROOT / name
    for each in [path] if path.is_file() else path.rglob("*"):
        if each.is_file() and "__pycache__" not in each.parts and each.suffix != ".pyc":
            yield each.relative_to(ROOT)


def test_it_has_each_file_of_the_checkout_unchanged(wheel: Path):
    expected = {str(file): file for name in PACKAGES for file in files_of(name)}
    expected |= {f"oneclaw/shipped/{file}": file for name in SHIPPED for file in files_of(name)}
    assert len(expected) > 1000
    with zipfile.ZipFile(wheel) as archive:
        found = {name for name in archive.namelist() if ".dist-info/" not in name}
        assert found == {*expected, "oneclaw/shipped/requirements/constraints.txt"}
        changed = [name for name, file in expected.items() if archive.read(name) != (ROOT / file).read_bytes()]
    assert changed == []


def test_it_asks_for_what_the_requirement_files_name(wheel: Path):
    with zipfile.ZipFile(wheel) as archive:
        (name,) = [name for name in archive.namelist() if name.endswith(".dist-info/METADATA")]
        metadata = archive.read(name).decode()
        constraints = archive.read("oneclaw/shipped/requirements/constraints.txt").decode()
        scripts = archive.read(name.replace("METADATA", "entry_points.txt")).decode()
    assert f"\nVersion: {release.version()}\n" in metadata
    asked = re.findall(r"^Requires-Dist: ([\w.-]+)(?![^\n]*extra ==)", metadata, re.MULTILINE)
    named = re.findall(r"^[\w.-]+", (ROOT / "requirements" / "base.in").read_text(), re.MULTILINE)
    assert sorted(asked) == sorted(named)
    assert "Requires-Dist: python3-saml; extra == 'saml'" in metadata
    pinned = re.findall(r"^([\w.-]+==\S+)", (ROOT / "requirements" / "run.txt").read_text(), re.MULTILINE)
    assert re.findall(r"^([\w.-]+==\S+)", constraints, re.MULTILINE) == pinned
    assert "oneclaw = oneclaw.command_line:main" in scripts


def test_the_version_is_written_once():
    assert release.version() == "0.2.0"
    assert "version" not in re.findall(r"^(\w+) =", (ROOT / "pyproject.toml").read_text(), re.MULTILINE)
    # The newest section of the changes is of this release.
    assert release.changelog().startswith(f"## {release.version()}")


def test_the_checkout_keeps_its_data_folder():
    assert not release.is_installed()
    assert usual_home() == ROOT / "data"


@pytest.mark.parametrize(
    ("platform", "variable", "expected"),
    [
        ("linux", "", "/home/ada/.local/share/oneclaw"),
        ("linux", "/srv/data", "/srv/data/oneclaw"),
        # The specification says that a relative path is ignored.
        ("linux", "data", "/home/ada/.local/share/oneclaw"),
        ("darwin", "/srv/data", "/home/ada/Library/Application Support/oneclaw"),
    ],
)
def test_an_installed_wheel_has_the_data_folder_of_its_platform(monkeypatch, platform, variable, expected):
    monkeypatch.setattr(release, "is_installed", lambda: True)
    monkeypatch.setattr(sys, "platform", platform)
    monkeypatch.setenv("HOME", "/home/ada")
    monkeypatch.setenv("XDG_DATA_HOME", variable)
    assert str(usual_home()) == expected


def test_an_account_without_a_home_is_asked_for_the_data_folder(monkeypatch):
    monkeypatch.setattr(release, "is_installed", lambda: True)
    monkeypatch.setattr(Path, "home", homeless)
    monkeypatch.delenv("XDG_DATA_HOME", raising=False)
    with pytest.raises(ImproperlyConfigured, match="This account has no home folder: set ONECLAW_HOME"):
        usual_home()


def homeless() -> Path:
    raise RuntimeError("Could not determine home directory.")


class Installed:
    """An environment with the wheel, and an empty folder in which its commands run."""

    def __init__(self, found: House, wheel: Path, *requirements: str) -> None:
        self.house = found
        self.folder, self.home = found.folder / "empty", found.folder / "person"
        self.folder.mkdir()
        self.home.mkdir()
        self.environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(self.home),
            # As if it was started by hand somewhere else.
            "PYTHONDONTWRITEBYTECODE": "1",
        }
        environment = found.folder / "environment"
        self.uv("venv", "--python", sys.executable, str(environment))
        self.python = environment / "bin" / "python"
        self.program = environment / "bin" / "oneclaw"
        self.uv("pip", "install", "--python", str(self.python), *requirements, str(wheel))

    def uv(self, *words: str) -> None:
        assert UV, "uv is not here: ./oneclaw.sh test installs it."
        subprocess.run([UV, "--quiet", *words], check=True, cwd=self.folder, timeout=600)

    def run(self, *words: str) -> subprocess.CompletedProcess[str]:
        command = [str(self.program), *words]
        return subprocess.run(
            command, cwd=self.folder, env=self.environment, capture_output=True, text=True, timeout=120
        )

    def serves(self) -> str:
        """Start `oneclaw run`, return the page, and stop it; its output is in `self.said`."""
        port = free_port()
        self.house.environment = self.environment
        self.house.code = self.folder
        self.house.urls = [f"http://127.0.0.1:{port}"]
        running = self.house.start("run", [str(self.program), "run"], PORT=str(port))
        self.house.wait_until_ready(300)
        status, page = self.house.get("/accounts/login/")
        assert status == 200
        style = re.search(r'href="(/static/[^"]+\.css)"', page)
        assert style, page
        assert self.house.get(style[1])[0] == 200
        assert running.stop(signal.SIGINT, 60) == 0
        self.said = running.said()
        return page


@pytest.mark.acceptance
@pytest.mark.soak
@pytest.mark.timeout(900)
def test_it_runs_in_an_environment_of_its_own(wheel: Path, tmp_path):
    """Its code alone is installed; the packages that it needs are those of the tests."""
    with house() as found:
        installed = Installed(found, wheel, "--offline", "--no-deps")
        packages = next(installed.python.parent.parent.glob("lib/python*/site-packages"))
        (packages / "tests.pth").write_text(next(path for path in sys.path if path.endswith("site-packages")))
        assert installed.run("--version").stdout == f"oneclaw {release.version()}\n"
        assert "oneclaw run" in installed.run("--help").stdout
        assert "OneClaw" in installed.serves()
        # Nothing is written into the folder in which it was started.
        assert list(installed.folder.iterdir()) == []
        data = installed.home / ".local" / "share" / "oneclaw"
        assert (data / "secret_key").exists()
        backup = installed.home / "backup.tar"
        assert "adduser" in installed.run("help").stdout
        assert installed.run("backup", str(backup)).returncode == 0
        refused = installed.run("extra", "quince")
        assert (refused.returncode, refused.stderr) == (1, "Name an extra: saml.\n")
        # Another data folder wins, and takes the backup.
        installed.environment["ONECLAW_HOME"] = str(found.folder / "home")
        restored = installed.run("restore", str(backup))
        assert "Everything is as it was." in restored.stdout, restored.stderr
        assert (found.folder / "home" / "pg18").exists()
        # What the previous release left loses nothing.
        previous = installed.home / "previous.tar"
        previous.write_bytes(lzma.decompress((ROOT / "tests/faults/previous_release/backup.tar.xz").read_bytes()))
        installed.environment["ONECLAW_HOME"] = str(found.folder / "previous")
        restored = installed.run("restore", str(previous))
        assert "Everything is as it was." in restored.stdout, restored.stderr
        checked = installed.run("check_invariants")
        assert checked.returncode == 0, checked.stdout + checked.stderr


@pytest.mark.acceptance
@pytest.mark.soak
@pytest.mark.timeout(900)
def test_uv_installs_it_with_all_that_it_needs(wheel: Path, tmp_path):
    """The packages come from the index that is configured here, in the tested versions; another one is named."""
    constraints = tmp_path / "constraints.txt"
    with zipfile.ZipFile(wheel) as archive:
        constraints.write_bytes(archive.read("oneclaw/shipped/requirements/constraints.txt"))
    with house() as found:
        installed = Installed(found, wheel, "--constraints", str(constraints))
        installed.serves()
        assert "other versions" not in installed.said
        installed.uv("pip", "install", "--python", str(installed.python), "tzdata==2025.1")
        installed.serves()
        (sentence,) = [line for line in installed.said.splitlines() if "other versions" in line]
        pinned = re.search(r"^tzdata==(\S+)", constraints.read_text(), re.MULTILINE)
        assert f"(tzdata 2025.1 instead of {pinned[1]})" in sentence
