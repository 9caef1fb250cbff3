"""The database of the previous release is upgraded by today's migrations and used, while old processes still write.

What that release left is in the folder `previous_release`, with the program that made it.
"""

import json
import lzma
import re
import subprocess
import tarfile
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from oneclaw.postgres import embedded as embedding
from tests.faults.conftest import upstream_of
from tests.faults.site import ADA, SHORT, Embedded, Upstream
from tests.scripted import answer, tool_use
from tests.stage import House, free_port, house, until

PREVIOUS = Path(__file__).parent / "previous_release"
BOB, CAROL = "bob@example.org", "carol@example.org"
CREATED = re.compile(r"^CREATE TABLE public\.(\w+) \((.*?)^\);", re.MULTILINE | re.DOTALL)
pytestmark = [pytest.mark.faults, pytest.mark.timeout(300)]

# The columns that every INSERT must name: one by a process that does not know them fails.
REQUIRED = """
SELECT table_name, column_name FROM information_schema.columns
WHERE table_schema = 'public' AND is_nullable = 'NO' AND column_default IS NULL AND is_identity = 'NO'
"""


@pytest.fixture(scope="module")
def backup(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The backup that the previous release made."""
    target = tmp_path_factory.mktemp("previous") / "backup.tar"
    target.write_bytes(lzma.decompress((PREVIOUS / "backup.tar.xz").read_bytes()))
    return target


@pytest.fixture(scope="module")
def upgraded(backup: Path) -> Iterator[Embedded]:
    """Today's release with that backup, to which old processes have written after the migrations."""
    upstream = Upstream()
    with upstream.server, house(**upstream_of(upstream), **SHORT) as found:
        assert "Everything is as it was." in found.manage("restore", str(backup))
        server = embedding.EmbeddedPostgres(found.home)
        server.join()
        with found.database() as connection, connection.transaction():
            for statement in written_by_old_processes():
                connection.execute(statement)
            complete(found, connection)
        found.manage("memory", "index", "--force")
        server.leave()
        found.manage("check_invariants")
        found.serve("serve", port=free_port())
        site = Embedded(found, upstream)
        yield site
        site.commands.end()


def test_each_column_that_came_since_has_a_default_for_rows_of_old_processes(backup: Path, upgraded: Embedded):
    old = columns_of(backup)
    required = {(table, column) for table, column in upgraded.rows(REQUIRED) if table in old}
    assert ("chat_message", "role") in required
    assert {(table, column) for table, column in required if column not in old[table]} == set()


@pytest.mark.parametrize(
    ("person", "word", "fact"), [(ADA, "boat", "Marigold"), (BOB, "tent", "green"), (CAROL, "bicycle", "blue")]
)
def test_conversations_and_memory_of_the_previous_release_are_used(
    upgraded: Embedded, person: str, word: str, fact: str
):
    """Carol came by an old process, after the migrations."""
    upgraded.cookie = upgraded.house.sign_in(person)
    ((session,),) = upgraded.rows(
        "SELECT session.id::text FROM chat_chatsession session JOIN oneclaw_user owner ON owner.id = session.owner_id "
        "WHERE email = %s AND EXISTS (SELECT FROM chat_message WHERE session_id = session.id AND text LIKE %s)",
        *(person, f"Remember:%{fact}%"),
    )
    before = upgraded.agreed(session)
    until(lambda: session in upgraded.house.get(f"/search?q={word}", upgraded.cookie)[1], 60, "the search finds it")
    search = answer(tool_use("memory_search", {"query": word}))
    upgraded.ask("What was it?", search, answer("That."), session=session)
    newest = [json.dumps(request.body["messages"][-1]) for request in upgraded.upstream.server.messages]
    assert any("tool_result" in message and fact in message for message in newest)
    upgraded.until_settled(session)
    saved = f"Today's fact of {person}"
    upgraded.ask(f"Remember: {saved}", answer(tool_use("save_memory", {"content": saved})), session=session)
    assert saved in upgraded.memory("%")
    assert upgraded.agreed(session)[: len(before)] == before
    upgraded.check()


def test_links_files_skills_and_schedules_of_the_previous_release_are_there(upgraded: Embedded):
    upgraded.cookie = upgraded.house.sign_in(ADA)
    for file, name in upgraded.rows("SELECT id, name FROM chat_attachment ORDER BY created_at LIMIT 1"):
        status, text = upgraded.house.get(f"/files/{file}", upgraded.cookie)
        assert (status, name, text) == (200, "note.txt", "Ada's boat is called Marigold.")
    assert "about-marigold" in upgraded.house.get("/memory/skills/", upgraded.cookie)[1]
    assert "Marigold" in upgraded.house.get("/schedules/", upgraded.cookie)[1]
    assert upgraded.house.get("/shared", upgraded.cookie)[1].count("/revoke") == 2


def written_by_old_processes() -> list[str]:
    lines = lzma.decompress((PREVIOUS / "statements.jsonl.xz").read_bytes()).splitlines()
    return [json.loads(line) for line in lines]


def complete(found: House, connection: psycopg.Connection) -> None:
    """Write the attached files, which are not in the log; nor are the rows of the index, which are sent by COPY."""
    for person, name, text in connection.execute(
        "SELECT owner_id::text, id::text, 'x' || repeat('y', size::int - 1) FROM chat_attachment"
    ):
        file = found.home / "attachments" / person / name
        if not file.exists():
            file.parent.mkdir(exist_ok=True)
            file.write_text(text)


def columns_of(backup: Path) -> dict[str, set[str]]:
    """The columns of each table in a backup."""
    with tarfile.open(backup) as archive:
        stream = archive.extractfile("database.dump")
        assert stream
        dump = stream.read()
    command = [embedding.programs() / "pg_restore", "--schema-only", "--file=-"]
    schema = subprocess.run(command, input=dump, capture_output=True, check=True).stdout.decode()
    return {
        table: {line.split()[0].strip('"') for line in body.splitlines() if line.strip()}
        for table, body in CREATED.findall(schema)
    }
