"""The version of this release, and what is new in it."""

import functools
import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
# The chat's renderer keeps line ends.
CONTINUATION = re.compile(r"\n {2,}(?=\S)")


@functools.cache
def version() -> str:
    """Return the version of this release, such as 0.1.0."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    return str(project["version"])


@functools.cache
def changelog() -> str:
    """Return the changes of all releases as Markdown, newest first, each in one line, without the title of the file."""
    text = (ROOT / "CHANGELOG.md").read_text()
    return CONTINUATION.sub(" ", text[text.index("\n## ") + 1 :])
