"""The disk under the files of memory is full, read-only or not there: what is saved is saved, the files follow."""

import contextlib
import os
import shutil
import subprocess
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.faults.site import Site
from tests.scripted import answer, tool_use
from tests.stage import until

pytestmark = [pytest.mark.faults, pytest.mark.timeout(120)]


@contextlib.contextmanager
def full(folder: Path) -> Iterator[None]:
    with mounted(folder, "size=16k"):
        with contextlib.suppress(OSError):
            (folder / "fill").write_bytes(b"x" * 100_000)
        yield


@contextlib.contextmanager
def read_only(folder: Path) -> Iterator[None]:
    with mounted(folder, "size=16k,ro"):
        yield


@contextlib.contextmanager
def a_file(folder: Path) -> Iterator[None]:
    """Where the folder should be, a file is in the way."""
    aside = folder.with_name("aside")
    folder.rename(aside)
    folder.write_text("in the way")
    try:
        yield
    finally:
        folder.unlink()
        aside.rename(folder)


@contextlib.contextmanager
def mounted(folder: Path, options: str) -> Iterator[None]:
    subprocess.run(["mount", "-t", "tmpfs", "-o", options, "tmpfs", folder], check=True)
    try:
        yield
    finally:
        subprocess.run(["umount", folder], check=True)


CAN_MOUNT = os.geteuid() == 0 and shutil.which("mount") is not None
FAULTS = [full, read_only, a_file] if CAN_MOUNT else [a_file]


@pytest.mark.parametrize("fault", FAULTS)
def test_a_memory_is_saved_and_its_file_follows_when_the_disk_is_well(site: Site, fault):
    fact, later = f"Fact {uuid.uuid4()}", f"Fact {uuid.uuid4()}"
    site.ask(f"Remember: {fact}", answer(tool_use("save_memory", {"content": fact})))
    ((space,),) = site.rows("SELECT space_id FROM memory_memorydocument WHERE path = 'MEMORY.md'")
    folder = site.house.home / "workspaces" / str(space)
    file = folder / "MEMORY.md"
    until(lambda: file.exists() and fact in file.read_text(), 30, "the file has the fact")
    with fault(folder):
        session = site.ask(f"Remember: {later}", answer(tool_use("save_memory", {"content": later})))
        assert site.agreed(session)[-1].status == "complete"
        assert later in site.memory("MEMORY.md")
        behind = "SELECT 1 FROM memory_memorydocument WHERE path = 'MEMORY.md' AND mirrored_version < version"
        assert site.rows(behind)
    site.sweep("memory")
    until(lambda: file.read_text() == site.memory("MEMORY.md"), 30, "the file has caught up")
    until(lambda: not site.rows(behind), 10, "its row says so")
    site.check()
    # Another file may just be written.
    until(lambda: not list(folder.glob(".*.tmp")), 10, "no draft of a file is left")
