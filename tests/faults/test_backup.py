"""A backup made while people write is restored elsewhere with nothing lost, and a damaged one changes nothing."""

import subprocess
import sys
import tarfile
import threading
import uuid
from pathlib import Path

import pytest

from oneclaw.ops.backup import write_key
from tests.faults.site import ADA, LONG, Site
from tests.scripted import answer, text, tool_use
from tests.stage import ROOT, House, free_port, house, until

pytestmark = pytest.mark.faults

MAKE_SERVER = """
from oneclaw.models import ModelServer
row = ModelServer(name="gateway", url="https://models.example.org", offers=[{"model": "llama"}])
row.set_key("sk-quince")
row.save()
"""
PEOPLE = "from oneclaw.models import User; print(*User.objects.values_list('email', flat=True))"


def test_a_backup_made_while_people_write_is_restored_in_another_place(site: Site, tmp_path: Path):
    fact = f"Fact {uuid.uuid4()}"
    kept = site.ask(f"Remember: {fact}", answer(tool_use("save_memory", {"content": fact})))
    (number,) = site.rows("SELECT id FROM oneclaw_user WHERE email = %s", ADA)[0]
    file = site.house.home / "attachments" / str(number) / f"{uuid.uuid4()}"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(b"attached " * 1000)
    file_of_memory = "SELECT 1 FROM memory_memorydocument WHERE path = 'MEMORY.md' AND mirrored_version = version"
    until(lambda: site.rows(file_of_memory), 30, "the file of memory is written")
    backup = tmp_path / "backup.tar"
    ended = threading.Event()
    asking = threading.Thread(target=keep_asking, args=(site, ended))
    asking.start()
    try:
        site.house.manage("backup", str(backup))
    finally:
        ended.set()
        asking.join()
    assert backup.stat().st_mode & 0o077 == 0
    with house() as other:
        said = other.manage("restore", str(backup))
        assert "Everything is as it was." in said
        assert fact in (other.home / "workspaces" / space_of(site) / "MEMORY.md").read_text()
        assert (other.home / "attachments" / str(number) / file.name).read_bytes() == file.read_bytes()
        other.serve("serve", port=free_port())
        other.wait_until_ready()
        with other.database() as connection:
            texts = connection.execute("SELECT text FROM chat_message WHERE session_id = %s", [kept]).fetchall()
            assert (f"Remember: {fact}",) in texts
            # The backup has its own event, and the restore is the newest one.
            told = "SELECT kind, details->>'command' FROM oneclaw_auditevent WHERE kind IN ('export', 'restore')"
            assert set(connection.execute(told).fetchall()) == {("export", "backup"), ("restore", "restore")}
            # What was answered when the snapshot was taken ends like any answer of a process that has gone.
            running = "SELECT count(*) FROM chat_turn WHERE status = 'running'"
            until(lambda: connection.execute(running).fetchone() == (0,), 60, "interrupted answers have ended")
        other.manage("check_invariants")
        # A second restore would mix two installations.
        assert "Stop OneClaw first." in refusal(other, backup)
    file.unlink()


def test_an_encrypted_backup_opens_with_its_key(embedded_site: Site, tmp_path: Path):
    key, backup = tmp_path / "backup.key", tmp_path / "backup.tar.age"
    said = embedded_site.house.manage("backup", str(backup), "--to", write_key(key))
    assert "among them the secret key" in said
    assert "It is encrypted." in said
    assert {path.name for path in tmp_path.iterdir()} - {"collected"} == {"backup.key", "backup.tar.age"}
    assert not tarfile.is_tarfile(backup)
    with house() as other:
        assert "Everything is as it was." in other.manage("restore", str(backup), "--key", str(key))


def test_a_damaged_backup_and_a_place_with_people_are_refused_and_nothing_changes(embedded_site: Site, tmp_path: Path):
    backup, damaged = tmp_path / "backup.tar", tmp_path / "damaged.tar"
    embedded_site.house.manage("backup", str(backup))
    assert "exists" in refusal(embedded_site.house, backup, "backup")
    data = bytearray(backup.read_bytes())
    with tarfile.open(backup) as archive:
        member = archive.getmember("database.dump")
    data[member.offset_data + member.size // 2] ^= 0xFF
    damaged.write_bytes(data)
    with house() as other:
        assert "database.dump has changed" in refusal(other, damaged)
        damaged.write_bytes(backup.read_bytes()[: member.offset_data + 100])
        assert "damaged" in refusal(other, damaged)
        assert not (other.home / "workspaces").exists()
        other.manage("migrate", "--no-input", "-v0")
        other.manage("adduser", "bob@example.org")
        assert "has people" in refusal(other, backup)
        assert other.manage("shell", "-v0", "-c", PEOPLE).split() == ["bob@example.org"]


def test_a_restore_under_another_key_says_what_is_lost_with_it(embedded_site: Site, tmp_path: Path):
    backup = tmp_path / "backup.tar"
    embedded_site.house.manage("shell", "-v0", "-c", MAKE_SERVER)
    embedded_site.house.manage("backup", str(backup))
    with house(ONECLAW_SECRET_KEY="another key that is long enough to be taken as one") as other:
        said = refusal(other, backup)
        assert "ONECLAW_SECRET_KEY is not the one of the backup" in said
        assert "The keys of these model servers cannot be read: gateway. Enter them again" in said
        assert "not everything is as it was" in said
        # Everything else is there.
        assert other.manage("shell", "-v0", "-c", PEOPLE).split() == [ADA]


def keep_asking(site: Site, ended: threading.Event) -> None:
    """Ask one thing after the other, each with a long answer, until `ended` is set."""
    while not ended.is_set():
        site.ask("Tell me many words.", answer(text(LONG, pace=0.001)))


def space_of(site: Site) -> str:
    return str(site.rows("SELECT space_id FROM memory_memorydocument WHERE path = 'MEMORY.md'")[0][0])


def refusal(found: House, backup: Path, command: str = "restore") -> str:
    """What a command says that must fail."""
    arguments = [sys.executable, "manage.py", command, str(backup)]
    done = subprocess.run(arguments, env=found.environment, cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert done.returncode == 1
    return done.stderr
