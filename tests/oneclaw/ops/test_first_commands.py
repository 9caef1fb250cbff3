"""What commands say when the database has no tables yet, and when its role may not make all that is needed."""

import json
import subprocess
import sys

import psycopg
import pytest

from tests.stage import ROOT, House, free_port, house, start_postgres

pytestmark = [pytest.mark.acceptance, pytest.mark.timeout(900)]
# Commands of people who have not run `migrate`; one process calls all of them as manage.py does.
EARLY = (
    "memory status",
    "memory status --json",
    "memory search --user ada@example.org quince",
    "memory index",
    "memory flush --user ada@example.org",
    "memory skills --user ada@example.org",
    "memory export --user ada@example.org memory-of-ada",
    "space list",
    "hooks",
    "check_invariants",
    "adduser ada@example.org --role owner",
    "audit verify",
    "account export ada@example.org account-of-ada.zip",
    "backup early.tar",
)
CALL_ALL = """
import contextlib, io, json, sys, traceback
import manage
for words in json.loads(sys.argv[1]):
    sys.argv, said, code = ["manage.py", *words.split()], io.StringIO(), 0
    with contextlib.redirect_stderr(said), contextlib.redirect_stdout(said):
        try:
            manage.main()
        except SystemExit as end:
            code = 1 if isinstance(end.code, str) else end.code
            print(end.code)
        except Exception:
            code = -1
            traceback.print_exc()
    print(json.dumps([words, code, said.getvalue()]))
"""
NO_TABLES = "The database has no tables yet, or not those of this release: run the command migrate first."


@pytest.fixture(scope="module")
def empty():
    """A house whose PostgreSQL has a database without tables."""
    with house() as found:
        port = free_port()
        found.environment["DATABASE_URL"] = f"postgresql://oneclaw@127.0.0.1:{port}/oneclaw"
        start_postgres(found, port)
        yield found


def test_every_command_before_the_first_run_says_what_to_do(empty: House, tmp_path):
    folder = tmp_path / "folder"
    folder.mkdir()
    command = [sys.executable, "-c", CALL_ALL, json.dumps(EARLY)]
    environment = empty.environment | {"PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=200)
    said = [json.loads(line) for line in done.stdout.splitlines()]
    assert [words for words, _, _ in said] == list(EARLY), done.stderr
    assert {words: (code, text) for words, code, text in said if (code, text.strip()) != (1, NO_TABLES)} == {}
    # Nothing is left of what was begun.
    assert list(folder.iterdir()) == []


def test_a_role_that_may_not_create_the_extension_is_told_who_may(empty: House):
    url = empty.environment["DATABASE_URL"]
    with psycopg.connect(url, autocommit=True) as admin:
        admin.execute("CREATE ROLE plain LOGIN")
        admin.execute("CREATE DATABASE kept")
    kept = url.removesuffix("/oneclaw") + "/kept"
    own = kept.replace("oneclaw@", "plain@")
    with psycopg.connect(kept, autocommit=True) as admin:
        admin.execute("GRANT CREATE ON SCHEMA public TO plain")

    def migrate() -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "manage.py", "migrate", "memory", "0001", "-v0"]
        environment = empty.environment | {"DATABASE_URL": own}
        return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=200)

    refused = migrate()
    assert refused.returncode == 1
    assert "Traceback" not in refused.stderr
    advice = "Let an admin of the database run, in this database: CREATE EXTENSION vector; then migrate again."
    assert f"This role may not create the extension pgvector. {advice}" in refused.stderr
    # The advice is enough.
    with psycopg.connect(kept, autocommit=True) as admin:
        admin.execute("CREATE EXTENSION vector")
    allowed = migrate()
    assert allowed.returncode == 0, allowed.stderr
