"""`memory status|index|search|flush|forget|export|import`: memory from the shell."""

import datetime as dt
import json
import math
import sys
import uuid
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.exceptions import ValidationError
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import ProgrammingError

from chat.models import ChatSession
from memory import tasks
from memory.forgetting import forget as forgetting
from memory.forgetting import plan as forget_plans
from memory.notes import coverage, flush
from memory.notes import status as backlog
from memory.search.manager import SLACK, HybridSearchManager
from memory.search.passage import Passage
from memory.transfer import workspace
from oneclaw.models import Space, User


class Command(BaseCommand):
    help = "Look at, search, take in and give out what is remembered."
    # --json gives one JSON document on standard output and nothing else.
    requires_system_checks = []

    def add_arguments(self, parser: CommandParser) -> None:
        actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")

        status = actions.add_parser("status", help="how much there is, and what is still to be done")
        status.add_argument("--session", metavar="ID", help="what became of each message of this conversation")
        status.add_argument("--deep", action="store_true", help="the index too: units, vectors, pending, model, drift")
        status.set_defaults(do=self.status)

        index = actions.add_parser("index", help="bring the search index up to date")
        index.add_argument("--force", action="store_true", help="write it anew")
        index.set_defaults(do=self.index)

        search = actions.add_parser("search", help="find passages")
        asked = search.add_mutually_exclusive_group(required=True)
        asked.add_argument("query", nargs="?")
        asked.add_argument(
            "--queries", metavar="FILE", help='JSON lines {"id","query","asked_at"?}; - is standard input'
        )
        search.add_argument("--max-results", type=int, default=settings.SEARCH_RESULTS)
        search.add_argument("--min-score", type=float, default=settings.SEARCH_FLOOR)
        shape = search.add_mutually_exclusive_group()
        shape.add_argument("--lines", dest="slack", action="store_const", const=0.0, help="single lines")
        shape.add_argument(
            "--passages", dest="slack", action="store_const", const=math.inf, help="each filled with what stands around"
        )
        search.set_defaults(do=self.search)

        flushing = actions.add_parser("flush", help="note conversations in the daily log now")
        flushing.add_argument("--session", metavar="ID", help="this conversation only")
        flushing.add_argument("--wait", action="store_true", help="return when it is done")
        flushing.set_defaults(do=self.flush)

        importing = actions.add_parser("import", help="take a workspace folder in")
        importing.add_argument("folder", type=Path)
        importing.add_argument("--wait", action="store_true", help="return when everything is indexed")
        importing.set_defaults(do=self.take_in)

        exporting = actions.add_parser("export", help="give the memory out as a folder, byte for byte")
        exporting.add_argument("folder", type=Path)
        exporting.set_defaults(do=self.give_out)

        forget = actions.add_parser(
            "forget", help="take lines away from everywhere, for good; nothing learns them again"
        )
        forget.add_argument("lines", nargs="*", metavar="LINE", help="a line, in the words in which it stands there")
        forget.add_argument("--with", dest="words", metavar="WORDS", help="every line that holds these words")
        forget.add_argument("--dry-run", action="store_true", help="only list what would go")
        forget.set_defaults(do=self.forget)

        for action in (status, index, search, flushing, importing, exporting, forget):
            needed = action in (search, importing, exporting, forget)
            action.add_argument("--user", metavar="EMAIL", required=needed, help="whose memory")
            action.add_argument("--json", action="store_true", help="one JSON document on standard output")

    def handle(self, *args: Any, **options: Any) -> None:
        email = options["user"]
        try:
            options["user"] = person(email) if email else None
        except ProgrammingError as error:
            raise CommandError("The database has no tables yet: run manage.py migrate first.") from error
        options["do"](**options)

    def status(self, *, user: User | None, session: str | None, deep: bool, json: bool, **_: Any) -> None:
        if session is not None:
            (one,) = sessions_of(user, session)
            parts = [asdict(part) for part in coverage.of_session(one)]
            self.tell({"session": str(one.pk), "messages": parts}, json, told_of_messages)
            return
        self.tell(backlog.status(user, deep), json, backlog.in_words)

    def index(self, *, user: User | None, force: bool, json: bool, **_: Any) -> None:
        made = backlog.index_all(user, force=force, progress=self.progress)
        told = {"indexed": made.documents, "waiting": made.waiting, "failed": made.failed}
        self.tell(told, json, lambda _: made.in_words())
        if made.failed:
            raise CommandError(f"{len(made.failed)} documents could not be indexed: {', '.join(made.failed[:5])}.")

    def search(
        self,
        *,
        user: User,
        query: str,
        queries: str,
        max_results: int,
        min_score: float,
        slack: float | None,
        json: bool,
        **_: Any,
    ) -> None:
        slack = SLACK if slack is None else slack
        manager = HybridSearchManager([Space.objects.own_of(user)])
        if queries is not None:
            for asked in read_queries(queries, user):
                found = manager.search(asked["query"], max_results, min_score, asked["today"], slack)
                self.stdout.write(as_json({"id": asked["id"], "results": [as_result(one) for one in found]}))
            return
        found = manager.search(query, max_results, min_score, user.day(), slack)
        self.tell([as_result(one) for one in found], json, as_lines)

    def flush(self, *, user: User | None, session: str | None, wait: bool, json: bool, **_: Any) -> None:
        asked = [(one, queued) for one in sessions_of(user, session) if (queued := flush.request(one, "shell"))]
        for one, queued in asked:
            if wait:
                backlog.finish_flushes(one)
            else:
                tasks.send(tasks.flush_session, queued.pk)
        rows = backlog.flushes_since(min(queued.pk for _, queued in asked), [one for one, _ in asked]) if asked else []
        self.tell({"flushes": rows}, json, told_of_flushes)
        if errors := [row["error"] for row in rows if row["error"] and wait]:
            raise CommandError(f"{len(errors)} conversations could not be noted: {errors[0]}")

    def take_in(self, *, user: User, folder: Path, wait: bool, json: bool, **_: Any) -> None:
        space = Space.objects.own_of(user)
        report = with_folder(workspace.import_folder, folder, space, user)
        behind = backlog.index_all(user, progress=self.progress).failed if wait else []
        self.tell(vars(report) | {"not_indexed": behind}, json, lambda _: told_of(report))
        if report.refused or behind:
            raise CommandError(f"{len(report.refused)} files were not taken, {len(behind)} are not indexed.")

    def give_out(self, *, user: User, folder: Path, json: bool, **_: Any) -> None:
        report = with_folder(workspace.export_folder, folder, Space.objects.own_of(user))
        self.tell({"written": report.written}, json, lambda _: [f"{len(report.written)} files were written."])

    def forget(self, *, user: User, lines: list[str], words: str | None, dry_run: bool, json: bool, **_: Any) -> None:
        space = Space.objects.own_of(user)
        if words is not None:
            lines = lines + forget_plans.lines_with(space, words)
        try:
            plan = forget_plans.plan(space, lines)
            done = None if dry_run else forgetting.forget(space, lines, user, plan.digest)
        except forget_plans.ForgetError as error:
            raise CommandError(str(error)) from error
        told = {
            "dry_run": dry_run,
            "receipt": done.pk if done else None,
            "hashes": done.hashes if done else [],
            "counts": done.counts if done else plan.counts,
            "documents": [asdict(going) for going in plan.documents] if dry_run else [],
            "files": plan.files,
        }
        self.tell(told, json, told_of_forgetting)

    def tell(self, value: Any, json: bool, lines: Any) -> None:
        self.stdout.write(as_json(value) if json else "\n".join(lines(value)))

    def progress(self, done: int, total: int) -> None:
        if self.stderr.isatty():
            self.stderr.write(f"\r{done} of {total}", ending="\n" if done == total else "")


def person(email: str) -> User:
    found = User.objects.filter(email__iexact=email.strip()).first()
    if found is None:
        raise CommandError(f"There is no person with the address {email}.")
    return found


def sessions_of(user: User | None, session: str | None) -> Iterable[ChatSession]:
    """The conversations that are meant; with both, the session must be the person's."""
    sessions = ChatSession.objects.filter(deleted_at=None)
    if user is not None:
        sessions = sessions.filter(owner=user)
    elif session is None:
        raise CommandError("Say which conversations: --session ID or --user EMAIL.")
    if session is None:
        return sessions.order_by("created_at")
    try:
        sessions = sessions.filter(pk=uuid.UUID(session))
    except (ValueError, ValidationError) as error:
        raise CommandError(f"“{session}” is not the id of a conversation.") from error
    if not sessions:
        raise CommandError(f"There is no conversation {session}.")
    return sessions


def with_folder(act: Any, folder: Path, *args: Any) -> workspace.Report:
    try:
        return act(folder, *args)
    except workspace.FolderError as error:
        raise CommandError(str(error)) from error
    except OSError as error:
        raise CommandError(f"{error.filename or folder} cannot be used: {error.strerror}.") from error


def told_of(report: workspace.Report) -> Iterator[str]:
    yield f"{len(report.written)} documents were taken in, {len(report.unchanged)} are unchanged."
    if report.skipped:
        yield f"{len(report.skipped)} other files were left aside."
    yield from report.refused.values()


def told_of_flushes(told: dict[str, Any]) -> Iterator[str]:
    for row in told["flushes"]:
        yield f"{row['session']}: {row['status']}" + (
            f", messages {row['after'] + 1}–{row['through']}" if row["through"] else ""
        )
    if not told["flushes"]:
        yield "There is nothing new to note."


def told_of_forgetting(told: dict[str, Any]) -> Iterator[str]:
    yield "This would go:" if told["dry_run"] else f"Forgotten; receipt {told['receipt']}:"
    for going in told["documents"]:
        yield from (f"{going['path']}:{number}: {line}" for number, line in going["lines"])
        yield from (f"{going['path']}, earlier: {line}" for line in going["earlier"])
    yield ", ".join(f"{name.replace('_', ' ')}: {count}" for name, count in told["counts"].items())


def told_of_messages(told: dict[str, Any]) -> Iterator[str]:
    for part in told["messages"]:
        yield f"{part['first']}–{part['last']}: {part['state']}, {part['why']}"


def read_queries(name: str, user: User) -> Iterator[dict[str, Any]]:
    try:
        text = sys.stdin.read() if name == "-" else Path(name).read_text()
    except (OSError, UnicodeDecodeError) as error:
        raise CommandError(f"{name} cannot be read: {getattr(error, 'strerror', None) or error}.") from error
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        try:
            asked = json.loads(line)
            day = day_asked(asked.get("asked_at"), user)
            yield {"id": asked["id"], "query": str(asked["query"]), "today": day}
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            sentence = f'Line {number} of {name} is not a query: write it like {{"id": "1", "query": "…"}}.'
            raise CommandError(sentence) from error


def day_asked(moment: str | None, user: User) -> dt.date:
    """The day that counts as today: of a date, that date; of a moment with a timezone, the person's day."""
    if not moment:
        return user.day()
    at = dt.datetime.fromisoformat(moment)
    return at.date() if at.tzinfo is None else user.day(at)


def as_result(passage: Passage) -> dict[str, Any]:
    names = ("path", "start_line", "end_line", "score", "vector_score", "text_score", "snippet")
    return {name: getattr(passage, name) for name in names}


def as_lines(results: list[dict[str, Any]]) -> Iterator[str]:
    for result in results:
        yield f"{result['path']}:{result['start_line']}-{result['end_line']}  {result['score']:.2f}"
        yield "\n".join(f"    {line}" for line in result["snippet"].split("\n"))
    if not results:
        yield "Nothing was found."


def as_json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
