"""Make the backup and the record of statements in this folder with the code of a previous release.

    git worktree add --detach /tmp/previous COMMIT
    cp -a .venv /tmp/previous/ && cd /tmp/previous
    PYTHONPATH=. .venv/bin/python …/tests/faults/previous_release/make.py

It starts that release on folders of its own, lets people use it through its pages and sockets, and calls its `backup`.
Then it lets them go on, while PostgreSQL logs what the processes write: this is what old processes still do to the
database of a team while it is upgraded. The statements are stored as JSON lines, in their order.
"""

import json
import lzma
import re
import tempfile
import time
import urllib.request
import uuid
from pathlib import Path

from tests.faults.conftest import upstream_of
from tests.faults.site import SHORT, Embedded, Upstream
from tests.scripted import answer, tool_use
from tests.stage import embedded, until

HERE = Path(__file__).resolve().parent
BOB = "bob@example.org"
PATIENT = SHORT | {"ONECLAW_SILENCE_TIMEOUT": "30"}
# A line of PostgreSQL's log begins so, and no line of a statement does: those after its first begin with a tab.
PREFIX = "@statement %p "
WRITES = re.compile(r"\b(INSERT INTO|UPDATE|DELETE FROM)\b")
MARK = "SELECT 'the backup is made'"
TEAM = """
from oneclaw.models import Space, SpaceMember, User
ada, bob = User.objects.get(email="ada@example.org"), User.objects.get(email="bob@example.org")
space = Space.objects.create(owner=ada, kind="team", name="Kitchen")
SpaceMember.objects.create(space=space, user=ada, role="owner")
SpaceMember.objects.create(space=space, user=bob, role="editor")
from memory.documents.write import Append, Author, Source, apply
apply(space, "MEMORY.md", Append("- The oven is serviced in May."), Author(Source.PAGE, ada))
"""


def main() -> None:
    upstream = Upstream()
    upstream.notes = lambda transcript: answer("- They spoke about the boat Marigold.")
    with upstream.server, embedded(**upstream_of(upstream), **PATIENT) as house:
        site = Embedded(house, upstream)
        bob = house.sign_in(BOB)
        house.manage("shell", "-v0", "-c", TEAM)
        use(site, site.cookie, "Ada's boat is called Marigold.")
        use(site, bob, "Bob's tent is green.")
        settle(site)
        log_statements(site)
        target = Path(tempfile.mkdtemp(prefix="upgrade-")) / "backup.tar"
        house.manage("backup", str(target))
        site.rows(MARK)
        use(site, site.cookie, "Ada's harbour is Lindau.")
        use(site, house.sign_in("carol@example.org"), "Carol's bicycle is blue.")
        settle(site)
        statements = logged(house.home / "postgres.log")
    (HERE / "backup.tar.xz").write_bytes(lzma.compress(target.read_bytes(), preset=9))
    lines = "".join(json.dumps(statement) + "\n" for statement in statements)
    (HERE / "statements.jsonl.xz").write_bytes(lzma.compress(lines.encode(), preset=9))
    print(len(statements), "statements by", Path.cwd())


def use(site: Embedded, cookie: str, fact: str) -> None:
    """Do as this person a little of everything: talk, save, attach, share, schedule, write a skill, end."""
    session, word = str(uuid.uuid4()), fact.rstrip(".").split()[-1].lower()
    site.cookie, before = cookie, site.cookie
    try:
        site.post("/schedules/new", text=f"Think of this: {fact}", repeat="daily", at="08:00")
        site.post("/memory/skills/new", name=f"about-{word}", description=f"Says {word}.", body=fact)
        site.ask("Good morning.", answer("Good morning."), session=session)
        file = attach(site, session, "note.txt", fact.encode())
        site.upstream.replies.append(answer(tool_use("save_memory", {"content": fact})))
        with site.talk(session) as talk:
            talk.say("send", client_id=str(uuid.uuid4()), session=session, text=f"Remember: {fact}", files=[file])
            talk.hear("done", seconds=60, final=True)
        site.until_settled(session)
        site.post(f"/c/{session}/rename", title="About things")
        site.post(f"/c/{session}/share", period="never")
        site.post(f"/c/{session}/end")
    finally:
        site.cookie = before


def attach(site: Embedded, session: str, name: str, data: bytes) -> str:
    """Upload a file as the page does, and return its id."""
    token, boundary = "a" * 32, "boundary"
    body = (
        (
            f'--{boundary}\r\nContent-Disposition: form-data; name="file"; filename="{name}"\r\n'
            f"Content-Type: text/plain\r\n\r\n"
        ).encode()
        + data
        + f"\r\n--{boundary}--\r\n".encode()
    )
    headers = {
        "Cookie": f"{site.cookie}; csrftoken={token}",
        "X-CSRFToken": token,
        "Content-Type": f"multipart/form-data; boundary={boundary}",
    }
    request = urllib.request.Request(f"{site.house.url}/c/{session}/files", data=body, headers=headers)
    with urllib.request.urlopen(request, timeout=15) as response:
        return json.load(response)["id"]


def settle(site: Embedded) -> None:
    """Wait until notes are written, and what is remembered is indexed and in its files."""
    until(lambda: not site.rows("SELECT 1 FROM chat_turn WHERE status = 'running'"), 60, "no turn runs")
    written = "SELECT 1 FROM memory_flush WHERE status IN ('queued', 'running')"
    until(lambda: not site.rows(written), 60, "notes are written")
    waiting = "SELECT 1 FROM memory_memorydocument WHERE mirrored_version IS DISTINCT FROM version"
    until(lambda: not site.rows(waiting), 60, "the files are written")
    time.sleep(5)
    for message in site.rows("SELECT role, status, left(text, 50) FROM chat_message ORDER BY id"):
        print(*message, sep=" | ")


def log_statements(site: Embedded) -> None:
    with site.house.database() as connection:
        connection.execute(f"ALTER SYSTEM SET log_line_prefix = '{PREFIX}'")
        connection.execute("ALTER SYSTEM SET log_statement = 'all'")
        connection.execute("SELECT pg_reload_conf()")
    time.sleep(1)


def logged(log: Path) -> list[str]:
    """Return the statements that write rows, from the mark on."""
    text = log.read_text().partition(MARK)[2]
    entries = re.split(r"^@statement \d+ ", text, flags=re.MULTILINE)[1:]
    found = []
    for entry in entries:
        level, _, statement = entry.partition(":  ")
        kind, _, statement = statement.partition(": ")
        if level == "LOG" and (kind == "statement" or kind.startswith("execute ")) and WRITES.search(statement):
            found.append(statement.removesuffix("\n").replace("\n\t", "\n"))
        elif level not in ("LOG", "DETAIL"):
            print("The log says:", entry)
    return found


if __name__ == "__main__":
    main()
