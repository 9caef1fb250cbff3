"""The version of this release, and what is new in it."""

import functools
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent


@functools.cache
def version() -> str:
    """Return the version of this release, such as 0.1.0."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    return str(project["version"])


@functools.cache
def changelog() -> str:
    """Return the changes of all releases as Markdown, newest first, without the title of the file."""
    text = (ROOT / "CHANGELOG.md").read_text()
    return text[text.index("\n## ") + 1 :]
