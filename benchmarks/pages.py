"""How fast pages come and how little they send: next to an empty view, long conversations, long lists, much to search.

    python benchmarks/pages.py sessions [--times 100]        time to first byte and queries, by length and by list
    python benchmarks/pages.py memory [--times 100]          the pages of a memory with many entries and days
    python benchmarks/pages.py spaces [--times 100]          the pages of a space with many members and conversations
    python benchmarks/pages.py search [--messages 1000000]   search over the messages of 200 people
    python benchmarks/pages.py sent                          what a browser is sent, compressed
    python benchmarks/pages.py stream [--blocks 100]         the main thread of a browser while an answer streams

One web process on the embedded database, and one with nothing but an empty view (benchmarks/floor.py), on the same
machine in the same minutes: product and floor take turns.
"""

import argparse
import asyncio
import contextlib
import gzip
import http.client
import itertools
import os
import random
import re
import shutil
import time
import uuid
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import timedelta
from statistics import mean
from typing import TYPE_CHECKING, Any
from urllib.parse import urljoin, urlsplit

from stage import cookie_of, cpu_seconds, free_port, machine, percentile, prepared, stage, started, wait_for

if TYPE_CHECKING:
    from chat.models import ChatSession
    from oneclaw.models import User

LENGTHS = (50, 200, 2000)
# Conversations of the person with many; people of the search; words of a message that is searched.
LISTED, PEOPLE, WORDS = 10_000, 200, 40
# The memory of one person: entries of MEMORY.md, the changes that wrote them, and days with notes.
ENTRIES, CHANGES, DAYS = 5_000, 100, 300
# Members of the space with LISTED conversations.
MEMBERS = 100
# A delta each 20 ms; the upstream begins a paragraph with every 40th.
PACE, DELTAS_OF_A_BLOCK = 0.02, 40


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["sessions", "memory", "spaces", "search", "sent", "stream"])
    parser.add_argument("--times", type=int, default=100, help="requests of each page, or questions")
    parser.add_argument("--messages", type=int, default=1_000_000)
    parser.add_argument("--blocks", type=int, default=100)
    chosen = parser.parse_args()
    print(f"{machine()}, {time.strftime('%d %B %Y %H:%M')}")
    if chosen.what == "stream":
        streamed(chosen.blocks)
        return
    with contextlib.ExitStack() as stack:
        if chosen.what == "search":
            searched(stack, chosen.messages, chosen.times)
        elif chosen.what == "sent":
            sent(stack)
        elif chosen.what == "memory":
            remembered(stack, chosen.times)
        elif chosen.what == "spaces":
            shared(stack, chosen.times)
        else:
            sessions(stack, chosen.times)


# -- Time to first byte --------------------------------------------------------------------------


def sessions(stack: contextlib.ExitStack, times: int) -> None:
    web, floor = house(stack)
    from django.db import connection

    from oneclaw.models import User

    talker, lister = (User.objects.create_user(f"{name}@example.org") for name in ("talker", "lister"))
    pages = {"an empty view": (floor, "/", talker)}
    for length in LENGTHS:
        pages[f"a session of {length:,} messages"] = (web, f"/c/{conversation(talker, length).pk}", talker)
    many(lister)
    # As the server itself does within a minute of so many changes.
    with connection.cursor() as cursor:
        cursor.execute("VACUUM ANALYZE")
    pages[f"a page with {LISTED:,} sessions"] = (web, "/", lister)
    pages[f"the list of {LISTED:,} sessions"] = (web, "/sessions?current=", lister)
    pages["the next 100 of it"] = (web, f"/sessions/older?after={edge(lister)}", lister)
    pages["1,000 of it at once"] = (web, "/sessions?current=&listed=1000", lister)
    compared(pages, web, times)


def compared(pages: dict[str, tuple["Server", str, "User"]], web: "Server", times: int) -> None:
    """Ask for each of `pages` (server, address, reader) in turn, and print their times; the first is the floor."""
    cookies = {user.pk: cookie_of(user) for _, _, user in pages.values()}
    lines = {name: Line(server, path, cookies[user.pk]) for name, (server, path, user) in pages.items()}
    for line in lines.values():
        for _ in range(3):
            line.ask()
        line.took.clear()
        line.worked.clear()
    for _ in range(times):
        for line in lines.values():
            line.ask()
    print(f"{'':34}{'median':>8} {'p95':>8} ms {'× floor':>8}{'cpu':>8} ms {'× floor':>8} {'queries':>8} {'kB':>6}")
    empty = lines["an empty view"]
    floor_median, floor_work = percentile(empty.took, 0.5), mean(empty.worked)
    for name, line in lines.items():
        middle, high, work = percentile(line.took, 0.5), percentile(line.took, 0.95), mean(line.worked)
        asked = queries(line.path, pages[name][2]) if line.server == web else 2
        size = len(gzip.compress(line.body)) / 1000
        waited = f"{middle:8.1f} {high:8.1f}    {middle / floor_median:8.1f}"
        print(f"{name:34}{waited}{work:8.1f}    {work / floor_work:8.1f} {asked:8} {size:6.1f}")


def remembered(stack: contextlib.ExitStack, times: int) -> None:
    web, floor = house(stack)
    from django.db import connection

    from memory.documents import write
    from memory.documents.write import Append, Author, Replace, Source
    from memory.index.documents import index_document
    from oneclaw.models import Space, User

    user = User.objects.create_user("rememberer@example.org")
    space, chosen = Space.objects.own_of(user), random.Random(5)
    words = ["likes", "works", "lives", "birthday", "doctor", "sister", "plans", "tea", "house", "garden", "train"]
    entries = [f"- Entry {n} {' '.join(chosen.choices(words, k=6))}" for n in range(ENTRIES)]
    author = Author(Source.TOOL, user)
    for version in range(CHANGES):
        content = "\n".join(entries[: ENTRIES * (version + 1) // CHANGES])
        write.apply(space, "MEMORY.md", Replace(content + "\n", version), author)
    for n in range(DAYS):
        path = f"memory/{user.day() - timedelta(days=n)}.md"
        made = write.apply(space, path, Append("- noted\n" * chosen.randint(1, 30)), Author(Source.FLUSH, user))
        index_document(made.document_id)
    with connection.cursor() as cursor:
        cursor.execute("VACUUM ANALYZE")
    pages = {
        "an empty view": (floor, "/", user),
        f"memory with {ENTRIES:,} entries": (web, "/memory/", user),
        # At an address of its own each time: nothing that was made for an earlier request is of use.
        "the same after a change": (web, "/memory/?n={number}", user),
        "one topic of it": (web, "/memory/topics/5", user),
        "its files": (web, "/memory/files", user),
        "memory a day ago": (web, f"/memory/past?day={user.day() - timedelta(days=1)}", user),
    }
    compared(pages, web, times)


def shared(stack: contextlib.ExitStack, times: int) -> None:
    web, floor = house(stack)
    from django.db import connection
    from django.utils import timezone

    from chat.models import ChatSession, default_agent
    from oneclaw.models import SpaceMember, User
    from oneclaw.spaces import lifecycle

    people = [User.objects.create_user(f"member{n}@example.org") for n in range(MEMBERS)]
    space = lifecycle.create(people[0], lifecycle.checked_draft("Engine room"))
    SpaceMember.objects.bulk_create(SpaceMember(space=space, user=user, role="editor") for user in people[1:])
    agent, now = default_agent(), timezone.now()
    # Half of them are private to their authors.
    ChatSession.objects.bulk_create(
        ChatSession(
            key=f"agent:oneclaw:user:{people[n % MEMBERS].pk}:{uuid.uuid4()}",
            owner=people[n % MEMBERS],
            agent=agent,
            space=space,
            shared_at=now if n % 2 else None,
            title=f"About the matter {n}",
            last_seq=2,
            read_seq=2,
            active_at=now - timedelta(hours=2 * n),
        )
        for n in range(LISTED)
    )
    with connection.cursor() as cursor:
        cursor.execute("VACUUM ANALYZE")
    pages = {"an empty view": (floor, "/", people[0])}
    for role, user in (("an owner", people[0]), ("an editor", people[1])):
        pages[f"{LISTED:,} conversations, {role}"] = (web, f"/spaces/{space.pk}/", user)
        pages[f"{MEMBERS} members, {role}"] = (web, f"/spaces/{space.pk}/members", user)
    pages["who can see it"] = (web, f"/spaces/{space.pk}/viewers", people[1])
    pages["the list of spaces"] = (web, "/spaces/", people[1])
    compared(pages, web, times)


@dataclass(frozen=True)
class Server:
    """A web process."""

    url: str
    pid: int


class Line:
    """One address, asked again and again; milliseconds from each question to the first byte of its answer, and of
    processor time, which the system counts in steps of ten: only its mean says something."""

    def __init__(self, server: Server, path: str, cookie: str) -> None:
        self.server, self.path = server, path
        self.took: list[float] = []
        self.worked: list[float] = []
        self.body = b""
        # For a path with a {number}, which is another one each time.
        self.numbers = itertools.count()
        self.connection = http.client.HTTPConnection(urlsplit(server.url).netloc, timeout=60)
        self.headers = {"Cookie": cookie, "HX-Request": "true"} if "sessions" in path else {"Cookie": cookie}

    def ask(self) -> None:
        # The server closes connections that nobody uses.
        self.connection.close()
        self.connection.connect()
        worked, began = cpu_seconds(self.server.pid), time.perf_counter()
        self.connection.request("GET", self.path.format(number=next(self.numbers)), headers=self.headers)
        # Returns with the first line and the headers.
        answer = self.connection.getresponse()
        self.took.append((time.perf_counter() - began) * 1000)
        self.body = answer.read()
        self.worked.append((cpu_seconds(self.server.pid) - worked) * 1000)
        assert answer.status == 200, f"{self.path}: {answer.status}"


def queries(path: str, user: "User") -> int:
    """SQL statements of one request, the sign-in among them, when nothing is asked for the first time."""
    from django.db import connection
    from django.test import Client
    from django.test.utils import CaptureQueriesContext

    client = Client(headers={"host": "127.0.0.1"})
    client.force_login(user)
    client.get(path.format(number=-1))
    with CaptureQueriesContext(connection) as captured:
        answer = client.get(path.format(number=-2))
    assert answer.status_code == 200, f"{path}: {answer.status_code}"
    return len(captured)


def conversation(user: "User", length: int) -> "ChatSession":
    """A conversation as a person has one: a question, an answer with its Markdown, and so on."""
    from chat.conversations.transcript import content_columns, html_columns
    from chat.models import ChatSession, Message, default_agent

    texts = ["What do you think of it?", "It is **good**.\n\n- one\n- two\n\n```python\nprint(1 + 1)\n```\n\nAnd more."]
    contents = [[{"type": "text", "text": text}] for text in texts]
    kept = [content_columns(contents[0]), content_columns(contents[1]) | html_columns(contents[1], {})]
    id = uuid.uuid4()
    key = f"agent:oneclaw:user:{user.pk}:{id}"
    session = ChatSession.objects.create(
        id=id, key=key, owner=user, agent=default_agent(), title=f"{length} messages", last_seq=length, read_seq=length
    )
    roles = (Message.Role.USER, Message.Role.ASSISTANT)
    listed = Message.objects.bulk_create(
        Message(session=session, seq=n + 1, role=roles[n % 2], stop_reason="end_turn", **kept[n % 2])
        for n in range(length)
    )
    # Each answers the one before it.
    for before, after in itertools.pairwise(listed):
        after.parent = before
    Message.objects.bulk_update(listed, ["parent"], batch_size=500)
    return session


def many(user: "User") -> None:
    """LISTED conversations over the last years, some of them pinned and filed."""
    from django.utils import timezone

    from chat.models import ChatSession, Folder, default_agent

    agent, now = default_agent(), timezone.now()
    folders = [Folder.objects.create(owner=user, name=f"Folder {n}") for n in range(5)]
    ChatSession.objects.bulk_create(
        ChatSession(
            key=f"agent:oneclaw:user:{user.pk}:{uuid.uuid4()}",
            owner=user,
            agent=agent,
            title=f"About the matter {n}",
            last_seq=2,
            read_seq=2,
            active_at=now - timedelta(hours=2 * n),
            pinned_at=now if n % 2000 == 7 else None,
            folder=folders[n % 5] if n % 500 == 3 else None,
        )
        for n in range(LISTED)
    )


def edge(user: "User") -> str:
    """Where the first part of this person's list ends."""
    from chat.library import sidebar

    return sidebar.listing(user).after


# -- Search --------------------------------------------------------------------------------------


def searched(stack: contextlib.ExitStack, count: int, times: int) -> None:
    prepared(stack)
    from chat.library import search
    from oneclaw.models import User

    chosen = random.Random(5)
    words = vocabulary(chosen)
    began = time.monotonic()
    fill(count, words)
    print(f"{count:,} messages of {PEOPLE} people, made in {time.monotonic() - began:.0f} s")
    people = list(User.objects.order_by("pk"))
    print(f"{'':34}{'median':>8} {'p95':>8} ms   found")
    kinds = {
        "one word": lambda: word(words, chosen),
        "three words": lambda: " ".join(word(words, chosen) for _ in range(3)),
        "the beginning of a word": lambda: word(words, chosen)[:3],
        "one letter": lambda: word(words, chosen)[:1],
        "a word that nobody said": lambda: "x" + word(words, chosen),
    }
    for name, ask in kinds.items():
        took, found = [], 0
        for n in range(times + 10):
            user, question = chosen.choice(people), ask()
            start = time.perf_counter()
            hits = len(search.messages(user, question)) + len(search.titles(user, question))
            if n >= 10:
                took.append((time.perf_counter() - start) * 1000)
                found += hits
        print(f"{name:34}{percentile(took, 0.5):8.1f} {percentile(took, 0.95):8.1f}   {found / times:7.1f}", flush=True)


def vocabulary(chosen: random.Random) -> list[str]:
    """Twenty thousand words of no language."""
    syllables = [a + b for a in "bcdfghklmnprstvw" for b in "aeiou"]
    return ["".join(chosen.choices(syllables, k=chosen.randint(2, 4))) for _ in range(20_000)]


def word(words: list[str], chosen: random.Random) -> str:
    """A word as often as people say it: few of them very often (Zipf)."""
    return words[int(len(words) ** chosen.random()) - 1]


def fill(count: int, words: list[str]) -> None:
    """`count` messages, 50 in a conversation, spread over PEOPLE; what triggers and indexes do, at the end at once."""
    import numpy
    from django.db import connection

    from chat.models import ChatSession, default_agent
    from oneclaw.models import User

    generator, agent = numpy.random.default_rng(5), default_agent()
    people = User.objects.bulk_create(User(email=f"person{n}@example.org") for n in range(PEOPLE))
    ids = [uuid.uuid4() for _ in range(max(PEOPLE, count // 50))]
    ChatSession.objects.bulk_create(
        (
            ChatSession(
                id=id,
                key=f"bench:{id}",
                owner=people[n % PEOPLE],
                agent=agent,
                title=f"About {words[n % len(words)]}",
                last_seq=50,
            )
            for n, id in enumerate(ids)
        ),
        batch_size=5000,
    )
    with connection.cursor() as cursor:
        cursor.execute("ALTER TABLE chat_message DISABLE TRIGGER USER")
        index = "SELECT indexdef FROM pg_indexes WHERE indexname = 'message_words'"
        definition = cursor.execute(index).fetchone()[0]
        cursor.execute("DROP INDEX message_words")
        columns = "session_id, seq, role, text, created_at, active, status, content, meta, html, html_version, model"
        rest = "now(), true, 'complete', '[]', '{}', '', 0, ''"
        cursor.execute("CREATE TEMP TABLE said (session_id uuid, seq bigint, role text, text text)")
        with cursor.copy("COPY said FROM STDIN") as copy:
            for first in range(0, count, 10_000):
                picked = (len(words) ** generator.random((min(10_000, count - first), WORDS))).astype(int) - 1
                for n, row in enumerate(picked.tolist(), first):
                    text = " ".join([words[each] for each in row])
                    copy.write_row((ids[n // 50 % len(ids)], n % 50 + 1, ("user", "assistant")[n % 2], text))
        cursor.execute(
            f"INSERT INTO chat_message ({columns}, stop_reason)"
            f" SELECT session_id, seq, role, text, now() - random() * interval '900 days',"
            f" {rest.removeprefix('now(), ')}, '' FROM said"
        )
        cursor.execute(
            "INSERT INTO chat_messagewords SELECT message.id, chat_words(message.text, session.owner_id)"
            " FROM chat_message message JOIN chat_chatsession session ON session.id = message.session_id"
        )
        cursor.execute("SET maintenance_work_mem = '1GB'")
        cursor.execute(definition)
        cursor.execute("ALTER TABLE chat_message ENABLE TRIGGER USER")
        cursor.execute("VACUUM ANALYZE")


# -- What is sent --------------------------------------------------------------------------------


def sent(stack: contextlib.ExitStack) -> None:
    web, _ = house(stack, floor=False)
    from oneclaw.models import User

    user = User.objects.create_user("reader@example.org")
    page = f"{web.url}/c/{conversation(user, 50).pk}"
    cookie = cookie_of(user)
    html, _ = fetched(page, cookie)
    scripts = modules(
        web.url, [urljoin(page, path) for path in re.findall(r'<script[^>]* src="([^"]+)"', html)], cookie
    )
    styles = [urljoin(page, path) for path in re.findall(r'<link rel="stylesheet" href="([^"]+)"', html)]
    kinds = [("the page itself", [page])]
    for kind, urls in (("script", scripts), ("style", styles)):
        # What sets formulas comes with the first of them.
        kinds.append((kind, [url for url in urls if "/katex/" not in url]))
        kinds.append((f"{kind} of KaTeX", [url for url in urls if "/katex/" in url]))
    for name, urls in kinds:
        sizes = {coding: sum(fetched(url, cookie, coding)[1] for url in urls) for coding in ("identity", "gzip", "br")}
        each = ", ".join(f"{size / 1000:.1f} kB {coding}" for coding, size in sizes.items())
        print(f"{name:16} {len(urls):3} files  {each}")


def modules(web: str, urls: Iterable[str], cookie: str) -> list[str]:
    """These scripts and all that they import."""
    found: list[str] = []
    waiting = list(urls)
    while waiting:
        if (url := waiting.pop()) not in found:
            found.append(url)
            text, _ = fetched(url, cookie)
            imported = re.findall(r"""(?:from|import)\s*\(?\s*["'](\.{0,2}/[^"']+)["']""", text)
            waiting += [urljoin(url, path) for path in imported]
    return found


def fetched(url: str, cookie: str, coding: str = "identity") -> tuple[str, int]:
    """The text of an address, when it is not compressed, and how many bytes came."""
    connection = http.client.HTTPConnection(urlsplit(url).netloc, timeout=60)
    connection.request("GET", urlsplit(url).path, headers={"Cookie": cookie, "Accept-Encoding": coding})
    answer = connection.getresponse()
    data = answer.read()
    assert answer.status == 200, f"{url}: {answer.status}"
    connection.close()
    return (data.decode() if answer.getheader("content-encoding", "identity") == "identity" else ""), len(data)


# -- A browser -----------------------------------------------------------------------------------

FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run", "--disable-component-update"]
MEASURED = ("TaskDuration", "ScriptDuration", "LayoutDuration", "RecalcStyleDuration")


def streamed(blocks: int) -> None:
    with stage(people=1, pace=PACE, deltas=blocks * DELTAS_OF_A_BLOCK, ONECLAW_TITLES="no") as running:
        asyncio.run(watched(running.url, running.cookies[0].partition("=")[2], blocks))


async def watched(url: str, cookie: str, blocks: int) -> None:
    """Processor time of the page's main thread from sending to the end of the answer, by Chromium's own account."""
    from playwright.async_api import async_playwright

    async with async_playwright() as playwright:
        program = next(filter(None, map(shutil.which, ("chromium-headless-shell", "chromium"))), None)
        browser = await playwright.chromium.launch(executable_path=os.environ.get("CHROMIUM") or program, args=FLAGS)
        context = await browser.new_context(viewport={"width": 1280, "height": 800})
        await context.add_cookies([{"name": "sessionid", "value": cookie, "url": url}])
        page = await context.new_page()
        await page.goto(url)
        await page.wait_for_timeout(2000)
        client = await context.new_cdp_session(page)
        # Of the thread and not of the clock: who else uses the machine is not counted.
        await client.send("Performance.enable", {"timeDomain": "threadTicks"})
        await page.fill("#text", "Go on.")
        before, began = await metrics(client), time.monotonic()
        await page.keyboard.press("Enter")
        patience = (blocks * DELTAS_OF_A_BLOCK * PACE * 3 + 60) * 1000
        await page.wait_for_selector('article[data-role="assistant"][data-status="complete"]', timeout=patience)
        spent, after = time.monotonic() - began, await metrics(client)
        shown = await page.locator('article[data-role="assistant"] .block').count()
        print(f"{shown} blocks in {spent:.0f} s")
        for name in MEASURED:
            used = after[name] - before[name]
            print(f"{name:20} {used:6.2f} s  {used / spent:6.1%}")
        await browser.close()


async def metrics(client: Any) -> dict[str, float]:
    found = await client.send("Performance.getMetrics")
    return {each["name"]: each["value"] for each in found["metrics"]}


# -- For all -------------------------------------------------------------------------------------


def house(stack: contextlib.ExitStack, *, floor: bool = True) -> tuple[Server, Server]:
    """The web process and the floor."""
    environment = prepared(stack, ONECLAW_TITLES="no")
    servers = []
    for command in [["manage.py", "serve", "web"], ["benchmarks/floor.py"]][: 2 if floor else 1]:
        port = free_port()
        process = started(stack, *command, env=environment | {"PORT": str(port)})
        servers.append(Server(f"http://127.0.0.1:{port}", process.pid))
    for server in servers:
        wait_for(server.url)
    return servers[0], servers[-1]


if __name__ == "__main__":
    main()
