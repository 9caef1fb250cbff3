"""What this release is made of: its version, the folder of its templates and scripts, and what it was tested with.

A checkout has these files at its top. A wheel has them in `oneclaw/shipped` (hatch_build.py).
"""

import functools
import importlib.metadata
import re
from pathlib import Path

# The only place of the release's number: the wheel, the pages and `oneclaw --version` have it from here.
VERSION = "0.2.0"

PACKAGES = Path(__file__).resolve().parent.parent.parent
SHIPPED = PACKAGES / "oneclaw" / "shipped"
# The chat's renderer keeps line ends.
CONTINUATION = re.compile(r"\n {2,}(?=\S)")
PIN = re.compile(r"^([A-Za-z0-9._-]+)==([^\s;\\]+)", re.MULTILINE)

# What a person types to run a command.
COMMAND = "oneclaw" if SHIPPED.is_dir() else "./oneclaw.sh"


def version() -> str:
    """Return the version of this release, such as 0.2.0."""
    return VERSION


def is_newer(other: str) -> bool:
    """Return whether the version `other`, such as 0.1.0, is newer than this release."""
    return [int(part) for part in re.findall(r"\d+", other)] > [int(part) for part in re.findall(r"\d+", version())]


def is_installed() -> bool:
    """Return whether this is an installed wheel, and not a checkout."""
    return SHIPPED.is_dir()


def root() -> Path:
    """Return the folder that has `templates`, `static`, `locale`, `requirements` and CHANGELOG.md."""
    return SHIPPED if is_installed() else PACKAGES


@functools.cache
def changelog() -> str:
    """Return the changes of all releases as Markdown, newest first, each in one line, without the title of the file."""
    text = (root() / "CHANGELOG.md").read_text()
    return CONTINUATION.sub(" ", text[text.index("\n## ") + 1 :])


def pinned_file() -> Path:
    """Return the file of the versions with which this release was tested; pip and uv take it as constraints."""
    return root() / "requirements" / ("constraints.txt" if is_installed() else "run.txt")


def other_versions() -> list[str]:
    """Return the installed packages that have another version than the one tested, as `name 2.0 instead of 1.0`."""
    pinned: dict[str, list[str]] = {}
    # A package may have one version for each Python.
    for name, tested in PIN.findall(pinned_file().read_text()):
        pinned.setdefault(name, []).append(tested)
    differing = []
    for name, tested in pinned.items():
        try:
            found = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            # Not needed on this system.
            continue
        if found not in tested:
            differing.append(f"{name} {found} instead of {' or '.join(tested)}")
    return differing
