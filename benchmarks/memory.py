"""How memory keeps up: a backlog of conversations to note, files edited all the time, many saves at one moment.

    python benchmarks/memory.py flushes [--sessions 1000] [--model 1.0]   a backlog, one worker, a slow model
    python benchmarks/memory.py files [--seconds 60] [--edits 50]         edits a second, half in files, half in rows
    python benchmarks/memory.py saves [--calls 100]                       save_memory at once, on one document

The worker (with its watcher) and beat run as `oneclaw serve` runs them, on the embedded database and queue; the model
is scripted. What was written is counted at the end, and everything that must always hold is checked.
"""

import argparse
import asyncio
import contextlib
import random
import re
import sys
import threading
import time
import uuid
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from stage import ROOT, machine, percentile, prepared, started

if TYPE_CHECKING:
    from chat.models import ChatSession, Message
    from oneclaw.models import User

sys.path.insert(0, str(ROOT))

from tests.scripted import Reply, ScriptedModel, answer

MARK = re.compile(r"mark-\d+")
# People whose conversations the backlog is of; people whose folders are edited, and documents of each.
TALKERS, EDITORS, DOCUMENTS = 50, 20, 20
# Seconds between two looks at what has arrived; and until what has not arrived counts as lost.
LOOK, PATIENCE = 0.02, 90.0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["flushes", "files", "saves"])
    parser.add_argument("--sessions", type=int, default=1000)
    parser.add_argument("--model", type=float, default=1.0, help="seconds that the model takes for an answer")
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--edits", type=float, default=50)
    parser.add_argument("--calls", type=int, default=100)
    chosen = parser.parse_args()
    print(f"{machine()}, {time.strftime('%d %B %Y %H:%M')}")
    with contextlib.ExitStack() as stack:
        if chosen.what == "flushes":
            flushes(stack, chosen.sessions, chosen.model)
        elif chosen.what == "files":
            edits(stack, chosen.seconds, chosen.edits)
        else:
            saves(stack, chosen.calls)


# -- A backlog -----------------------------------------------------------------------------------


def flushes(stack: contextlib.ExitStack, count: int, seconds: float) -> None:
    model = stack.enter_context(ScriptedModel(default=lambda body: noted(body, seconds)))
    environment = prepared(stack, ANTHROPIC_BASE_URL=model.url)
    from memory.models import DocumentJob, Flush
    from memory.tasks import flush_soon
    from oneclaw.models import User

    people = [User.objects.create_user(f"person{n}@example.org") for n in range(min(TALKERS, count))]
    for number in range(count):
        flush_soon(talk(people[number % len(people)], number), "idle")
    print(f"{count} conversations of {len(people)} people wait; the model takes {seconds:g} s.", flush=True)
    from django.conf import settings

    threads, began = settings.WORKER_THREADS, time.time()
    house(stack, environment)
    wait_until_none(Flush.objects.open, began, "flushes")
    last = Flush.objects.order_by("-finished_at").values_list("finished_at", flat=True)[0]
    asked = [marks(request.body) for request in model.messages if not wants_summary(request.body)]
    print(f"all noted after {last.timestamp() - began:.0f} s (the model alone: {count * seconds / threads:.0f} s)")
    wait_until_none(DocumentJob.objects.open, began, "summaries")
    print(f"and summarised in Recent Conversations.md after {time.time() - began:.0f} s")
    count_notes(count, Counter(mark for each in asked for mark in each))
    print(f"violations: {violations()}")


def noted(body: dict[str, Any], seconds: float) -> Reply:
    """What the scripted model says of a conversation: its mark, as a note or as a title."""
    mark = next(iter(marks(body)), "nothing")
    words = f'{{"title": "About {mark}", "summary": "It was said."}}' if wants_summary(body) else f"- Spoke of {mark}."
    return answer(words, first_byte=seconds)


def marks(body: dict[str, Any]) -> set[str]:
    return set(MARK.findall(str(body["messages"])))


def wants_summary(body: dict[str, Any]) -> bool:
    return "JSON" in str(body["messages"])


def talk(user: "User", number: int) -> "ChatSession":
    """A conversation of two questions and answers."""
    from chat.conversations import transcript
    from chat.models import ChatSession

    id = uuid.uuid4()
    for text in (f"Let us speak of mark-{number}.", "What do you think of it?"):
        accepted = transcript.accept(user, id, uuid.uuid4(), text)
        assert accepted.turn is not None
        assert accepted.answer is not None
        transcript.finish_turn(accepted.turn, accepted.answer, [{"type": "text", "text": "Very well."}], "complete")
    return ChatSession.objects.get(pk=id)


def wait_until_none(open_rows: Any, began: float, name: str) -> None:
    told = time.monotonic()
    while left := open_rows().count():
        if time.monotonic() - told > 30:
            told = time.monotonic()
            print(f"  {time.time() - began:4.0f} s: {left} {name} left", flush=True)
        time.sleep(0.5)


def count_notes(count: int, asked: Counter[str]) -> None:
    """Each conversation in one flush that covers all of it, and once in the log of its day."""
    from chat.models import ChatSession
    from memory.models import Flush, MemoryDocument

    covered = Counter(Flush.objects.finished().values_list("session_id", "after_seq", "through_seq"))
    wanted = {(session.pk, 0, session.last_seq) for session in ChatSession.objects.all()}
    texts = MemoryDocument.objects.filter(path__startswith="memory/").values_list("content", flat=True)
    stand = Counter(mark for text in texts for mark in re.findall(r"Spoke of (mark-\d+)\.", text))
    expected = {f"mark-{n}" for n in range(count)}
    print(f"asked of the model: {len(asked)} conversations, {sum(asked.values()) - len(asked)} of them again")
    print(f"flushes: {sum(covered.values())}, ranges not covered or covered twice: {len(wanted ^ set(covered))}")
    print(f"notes: {len(stand)}, lost {len(expected - set(stand))}, doubled {sum(stand.values()) - len(stand)}")


# -- Files and rows ------------------------------------------------------------------------------


@dataclass
class Way:
    """Edits on their way to the other side: when each was made, and how long it took."""

    name: str
    made: dict[str, float] = field(default_factory=dict)
    took: dict[str, float] = field(default_factory=dict)

    def arrived(self, mark: str, now: float) -> None:
        if mark in self.made and mark not in self.took:
            self.took[mark] = now - self.made[mark]

    def told(self) -> str:
        lost = len(self.made) - len(self.took)
        if not self.took:
            return f"{self.name}: none of {lost} arrived"
        values = list(self.took.values())
        middle, high = percentile(values, 0.5), percentile(values, 0.95)
        rest = f"longest {max(values):.2f} s, {len(values)} edits, {lost} not within {PATIENCE:.0f} s"
        return f"{self.name}: median {middle:.2f} s, p95 {high:.2f} s, {rest}"


def edits(stack: contextlib.ExitStack, seconds: float, pace: float) -> None:
    """Half of the documents are edited in their files, as by an editor that appends; the other half by the product."""
    model = stack.enter_context(ScriptedModel())
    environment = prepared(stack, ANTHROPIC_BASE_URL=model.url)
    from django.db import connection

    from memory.files.folders import folder_of
    from oneclaw.models import Space, User

    spaces = [Space.objects.own_of(User.objects.create_user(f"editor{n}@example.org")) for n in range(EDITORS)]
    places = [(space, f"notes/page-{n}.md") for space in spaces for n in range(DOCUMENTS)]
    for space, path in places:
        append(space, path, "# A page\n")
    house(stack, environment)
    time.sleep(10)
    chosen = random.Random(7)
    by_file, by_row = Way("file → database"), Way("database → file")
    files: dict[str, Path] = {}
    stop = threading.Event()
    looks = [threading.Thread(target=look, args=(stop, *of)) for of in ((rows, by_file), (read, by_row, files))]
    for each in looks:
        each.start()

    def append_row(space: Space, path: str, mark: str) -> None:
        files[mark] = folder_of(space) / path
        by_row.made[mark] = time.time()
        append(space, path, f"- {mark} said\n")
        connection.close()

    behind, begun, at = 0, time.monotonic(), {}
    with ThreadPoolExecutor(8) as pool:
        for number in range(int(seconds * pace)):
            time.sleep(wait := max(0.0, begun + number / pace - time.monotonic()))
            behind += wait == 0.0
            mark = f"mark-{number}"
            half = chosen.randrange(len(places) // 2)
            space, path = at[mark] = places[2 * half + number % 2]
            if number % 2:
                pool.submit(append_row, space, path, mark)
            else:
                with (folder_of(space) / path).open("a") as file:
                    file.write(f"- {mark} written\n")
                by_file.made[mark] = time.time()
        spent = time.monotonic() - begun
    print(f"{len(at)} edits in {spent:.0f} s ({len(at) / spent:.0f} a second), {EDITORS} folders of {DOCUMENTS} files")
    give_up = time.monotonic() + PATIENCE
    while time.monotonic() < give_up and any(len(way.took) < len(way.made) for way in (by_file, by_row)):
        time.sleep(0.5)
    stop.set()
    for each in looks:
        each.join()
    print(by_file.told())
    print(by_row.told())
    count_edits(at)
    print(f"violations: {violations()}")


def append(space: Any, path: str, text: str) -> None:
    from memory.documents.write import Append, Author, Source, apply

    apply(space, path, Append(text), Author(Source.PAGE, space.owner))


def look(stop: threading.Event, see: Any, way: Way, *more: Any) -> None:
    """Note what has arrived, until `stop` is set."""
    state: dict[str, Any] = {}
    while not stop.wait(LOOK):
        see(way, state, *more)


def rows(way: Way, state: dict[str, Any]) -> None:
    """What of the files stands in committed revisions."""
    from memory.models import MemoryRevision

    # Numbers are given before they are committed: a few back may still come.
    newest, seen = state.setdefault("newest", 0), state.setdefault("seen", set())
    found = MemoryRevision.objects.filter(pk__gt=newest - 300, source=MemoryRevision.Source.FILE)
    for pk, hunks in found.values_list("pk", "hunks"):
        if pk not in seen:
            seen.add(pk)
            for mark in MARK.findall(str(hunks)):
                way.arrived(mark, time.time())
        state["newest"] = max(state["newest"], pk)


def read(way: Way, state: dict[str, Any], files: dict[str, Path]) -> None:
    """What of the rows stands in the files."""
    waiting = {files[mark] for mark in list(way.made) if mark not in way.took}
    for file in waiting:
        now = time.time()
        for mark in MARK.findall(file.read_text()):
            way.arrived(mark, now)


def count_edits(at: dict[str, Any]) -> None:
    """Every edit once in its document, and the file the same."""
    from memory.files.folders import folder_of
    from memory.models import MemoryDocument

    documents = {(each.space_id, each.path): each for each in MemoryDocument.objects.select_related("space")}
    stand = Counter((key, mark) for key, each in documents.items() for mark in MARK.findall(each.content))
    wanted = {((space.pk, path), mark) for mark, (space, path) in at.items()}
    differ = [
        each.path for each in documents.values() if (folder_of(each.space) / each.path).read_text() != each.content
    ]
    doubled = sum(stand.values()) - len(stand)
    print(f"lost {len(wanted - set(stand))}, doubled {doubled}, elsewhere {len(set(stand) - wanted)}", end="; ")
    print(f"files that differ from their document: {len(differ)}")


# -- Saves ---------------------------------------------------------------------------------------


def saves(stack: contextlib.ExitStack, count: int) -> None:
    """As many conversations of one person call save_memory at one moment, the way a turn calls it."""
    from tests.scripted import text

    model = stack.enter_context(ScriptedModel(default=lambda body: answer(text("NONE"))))
    environment = prepared(stack, ANTHROPIC_BASE_URL=model.url)
    from chat.models import Message
    from memory.documents.write import content_at
    from memory.models import Comparison, MemoryDocument
    from oneclaw.models import Space, User

    user = User.objects.create_user("ada@example.org")
    sessions = [talk(user, number) for number in range(count + 5)]
    answers = [session.messages.filter(role=Message.Role.ASSISTANT).latest("seq") for session in sessions]
    house(stack, environment)
    asyncio.run(called(answers[count:], "Warm"))
    floor_document = MemoryDocument.objects.create(space=Space.objects.own_of(user), path="floor.md", version=1)
    floor = asyncio.run(plain_saves(floor_document.pk, count))
    MemoryDocument.objects.filter(pk=floor_document.pk).delete()
    time.sleep(5)
    processor, began = time.process_time(), time.perf_counter()
    took = asyncio.run(called(answers[:count], "Fact"))
    spent, processor = time.perf_counter() - began, time.process_time() - processor
    ended = time.time()
    wait_until_none(Comparison.objects.open, ended, "comparisons")
    compared = time.time() - ended
    document = MemoryDocument.objects.get(path="MEMORY.md")
    numbers = list(document.revisions.order_by("number").values_list("number", flat=True))
    lines = Counter(re.findall(r"^- Fact \d+ .*$", document.content, re.MULTILINE))
    adds_up = content_at(document, document.version) == document.content
    print(
        f"{count} at once: median {percentile(took, 0.5):.2f} s, p95 {percentile(took, 0.95):.2f} s, all {spent:.2f} s"
    )
    high = percentile(floor, 0.95)
    print(f"the floor, UPDATE and INSERT under a row lock: p95 {high:.2f} s; × {percentile(took, 0.95) / high:.1f}")
    print(f"processor time of the web process: {1000 * processor / count:.1f} ms a save")
    print(f"compared with older lines {compared:.1f} s after the last result")
    print(f"lines {len(lines)}, doubled {sum(lines.values()) - len(lines)}, revisions {len(numbers) - 5}", end=", ")
    print(f"without a gap: {numbers == list(range(1, count + 6))}, they add up: {adds_up}")
    print(f"asked whether it contradicts: {len(model.messages)} times; violations: {violations()}")


async def called(answers: list["Message"], name: str) -> list[float]:
    """Seconds of each call, from the moment at which all come."""
    from chat.models import Turn
    from chat.turns.tools import call_tool
    from oneclaw.threads import in_tool_thread

    async def one(number: int, message: "Message") -> float:
        began = time.perf_counter()
        content = f"{name} {number} about the {chr(97 + number % 26) * 5}."
        use = {"id": f"toolu_{name}{number}", "name": "save_memory", "input": {"content": content}}
        block, _ = await in_tool_thread(call_tool, Turn(session_id=message.session_id), message, use, "")
        assert not block.get("is_error"), block
        return time.perf_counter() - began

    return await asyncio.gather(*(one(number, message) for number, message in enumerate(answers)))


async def plain_saves(document_id: int, count: int) -> list[float]:
    """Seconds of each of `count` transactions at once that write the rows of a save and nothing else."""
    from django.db import transaction

    from memory.models import MemoryDocument, MemoryRevision
    from oneclaw.threads import in_tool_thread

    @transaction.atomic
    def save(number: int) -> None:
        document = MemoryDocument.objects.select_for_update().get(pk=document_id)
        document.content += f"- Fact {number}.\n"
        document.version += 1
        document.save(update_fields=["content", "version"])
        MemoryRevision.objects.create(
            space_id=document.space_id,
            document=document,
            number=document.version,
            kind="append",
            source="tool",
            hunks=[],
        )

    async def one(number: int) -> float:
        began = time.perf_counter()
        await in_tool_thread(save, number)
        return time.perf_counter() - began

    return await asyncio.gather(*(one(number) for number in range(count)))


# -- For all -------------------------------------------------------------------------------------


def house(stack: contextlib.ExitStack, environment: dict[str, str]) -> None:
    """Worker and beat, each in a process of its own."""
    started(stack, "manage.py", "serve", "worker", env=environment)
    started(stack, "manage.py", "serve", "beat", env=environment)


def violations() -> int:
    from oneclaw import invariants

    found = [str(violation) for violation in invariants.check()]
    for text in found[:5]:
        print(f"  {text}")
    return len(found)


if __name__ == "__main__":
    main()
