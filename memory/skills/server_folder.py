"""Read the skills of the server's folder, ONECLAW_SKILLS: each folder in it with a SKILL.md. Nothing is written there.

What an operator changes is seen within READ_AGAIN_SECONDS by every process.
"""

import logging
import os
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from django.conf import settings

from memory.files import disk
from memory.policy.paths import SKILL_FILE, SKILLS, BadPathError, checked_path
from memory.skills.limits import SKILL_MAX_BYTES, SKILL_MAX_FILES, SKILLS_MAX_COUNT

logger = logging.getLogger(__name__)

READ_AGAIN_SECONDS = 5.0


@dataclass
class _Read:
    """What was read last: the folder, when, and {skill: {path in the skill: text}}."""

    folder: str = ""
    at: float = 0.0
    skills: Mapping[str, Mapping[str, str]] = field(default_factory=dict)


_lock = threading.Lock()
_read = _Read()


def server_skills() -> Mapping[str, Mapping[str, str]]:
    """Return the files of each skill of the server's folder: {name of the folder: {path inside of it: text}}."""
    if not settings.SKILLS:
        return {}
    with _lock:
        if _read.folder != settings.SKILLS or time.monotonic() - _read.at >= READ_AGAIN_SECONDS:
            _read.skills = read(Path(settings.SKILLS))
            _read.folder, _read.at = settings.SKILLS, time.monotonic()
        return _read.skills


def read_again() -> None:
    """Let the next call of `server_skills` read the folder."""
    with _lock:
        _read.folder = ""


def read(root: Path) -> dict[str, dict[str, str]]:
    """Return the files of each skill below `root`, at most SKILLS_MAX_COUNT; links are not followed."""
    try:
        with os.scandir(root) as entries:
            names = sorted(each.name for each in entries if each.is_dir(follow_symlinks=False))
    except OSError as error:
        logger.warning("The folder of ONECLAW_SKILLS cannot be read: %s", error)
        return {}
    named = [name for name in names if not name.startswith(".")][:SKILLS_MAX_COUNT]
    found = {name: read_skill(root / name, name) for name in named}
    return {name: files for name, files in found.items() if SKILL_FILE in files}


def read_skill(folder: Path, name: str) -> dict[str, str]:
    """Return the text files of one skill by their paths. Others, links, and what exceeds the limits, are left out."""
    files: dict[str, str] = {}
    left = SKILL_MAX_BYTES
    try:
        for found in disk.walk(folder):
            if found.is_hidden or not found.is_file or len(files) >= SKILL_MAX_FILES:
                continue
            try:
                path = f"{SKILLS}/{name}/{found.path}"
                if checked_path(path) != path:
                    continue
                text = disk.read(folder, found.path)
            except (BadPathError, disk.UnreadableFileError):
                continue
            left -= len(text.encode())
            if left < 0:
                break
            files[found.path] = text
    except OSError as error:
        logger.warning("The skill %s of ONECLAW_SKILLS cannot be read: %s", name, error)
    return files
