"""The process that removes a person is killed in the middle: a worker goes on, and nothing is left."""

import signal
import subprocess
import sys

import pytest

from tests.faults.site import ADA, Site
from tests.stage import ROOT, until

pytestmark = [pytest.mark.faults, pytest.mark.timeout(180)]
GRACE, WORD = "grace@example.org", "zyzzyva"


@pytest.mark.parametrize("site", ["embedded"], indirect=True)
def test_killed_in_its_middle_it_goes_on_and_leaves_nothing(site: Site, tmp_path):
    site.commands.run("adduser", GRACE)
    (tmp_path / "MEMORY.md").write_text(f"- {WORD} likes tea.\n")
    site.commands.run("memory", "import", str(tmp_path), "--user", GRACE, "--wait")
    (number,) = site.rows("SELECT id FROM oneclaw_user WHERE email = %s", GRACE)[0]
    assert site.rows("SELECT 1 FROM memory_memorydocument WHERE content LIKE %s", f"%{WORD}%")
    with site.house.database() as connection:
        connection.execute("BEGIN")
        connection.execute(
            "SELECT 1 FROM memory_memorydocument document JOIN oneclaw_space space ON space.id = document.space_id "
            "WHERE space.owner_id = %s FOR UPDATE OF document",
            [number],
        )
        command = [sys.executable, "manage.py", "offboard", GRACE, "--to", ADA]
        removal = subprocess.Popen(command, cwd=ROOT, env=site.house.environment, stdout=subprocess.DEVNULL)
        site.until_waiting()
        removal.send_signal(signal.SIGKILL)
        removal.wait()
        connection.execute("ROLLBACK")
    assert site.rows("SELECT 1 FROM oneclaw_user WHERE id = %s AND NOT is_active", number)
    with site.house.database() as connection:
        # As after a minute.
        connection.execute("UPDATE oneclaw_offboarding SET lease_until = now() - interval '1 second'")
        connection.commit()
    site.sweep("chat")
    until(lambda: not site.rows("SELECT 1 FROM oneclaw_user WHERE id = %s", number), 60, "the person is gone")
    assert site.rows("SELECT status FROM oneclaw_offboarding WHERE person = %s", number) == [("done",)]
    for table in ("memory_memorydocument", "memory_memoryrevision", "memory_memorychunk"):
        assert not site.rows(f"SELECT 1 FROM {table} each WHERE each::text LIKE %s", f"%{WORD}%")
    workspaces = site.house.home / "workspaces"
    assert not [path for path in workspaces.rglob("*.md") if WORD in path.read_text()]
    site.commands.run("check_invariants")
