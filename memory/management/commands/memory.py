"""Provide memory in the shell: `memory status|index|search|skills|lab|flush|forget|export|import`."""

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

from chat.models import ChatSession
from memory import tasks
from memory.access.rights import spaces_to_forget_in
from memory.access.sources import Sources
from memory.access.transcripts import SHARED
from memory.forgetting import forget as forgetting
from memory.forgetting import plan as forget_plans
from memory.lab import golden
from memory.notes import coverage, flush
from memory.notes import status as backlog
from memory.policy import curation, switches
from memory.search.manager import PASSAGE_SLACK_POINTS, HybridSearchManager
from memory.search.passage import Passage
from memory.skills import importing
from memory.skills.approval import with_states
from memory.skills.catalogue import skills_of_person
from memory.transfer import workspace
from oneclaw.management.arguments import person, space_named, space_or_own
from oneclaw.models import Space, User


class Command(BaseCommand):
    help = "Look at, search, take in and give out what is remembered."
    # With --json standard output is one JSON document and nothing else.
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
        search.add_argument("--max-results", type=int, default=settings.SEARCH.max_passages)
        search.add_argument("--min-score", type=float, help="the lowest probability that a passage answers")
        shape = search.add_mutually_exclusive_group()
        shape.add_argument("--lines", dest="slack", action="store_const", const=0.0, help="single lines")
        shape.add_argument(
            "--passages",
            dest="slack",
            action="store_const",
            const=math.inf,
            help="each filled with its neighbouring lines",
        )
        search.set_defaults(do=self.search)

        flushing = actions.add_parser("flush", help="note conversations in the daily log now")
        flushing.add_argument("--session", metavar="ID", help="this conversation only")
        flushing.add_argument("--wait", action="store_true", help="return when it is done")
        flushing.set_defaults(do=self.flush)

        importing = actions.add_parser("import", help="take a workspace folder in")
        importing.add_argument("folder", type=Path)
        importing.add_argument("--wait", action="store_true", help="return when everything is indexed")
        importing.set_defaults(do=self.import_folder)

        exporting = actions.add_parser("export", help="give the memory out as a folder, byte for byte")
        exporting.add_argument("folder", type=Path)
        exporting.set_defaults(do=self.export_folder)

        forget = actions.add_parser(
            "forget", help="remove lines everywhere and permanently, so that they are not learnt again"
        )
        forget.add_argument("lines", nargs="*", metavar="LINE", help="a line, exactly as it is written")
        forget.add_argument("--with", dest="words", metavar="WORDS", help="every line that holds these words")
        forget.add_argument("--dry-run", action="store_true", help="only list what would go")
        forget.set_defaults(do=self.forget)

        skills = actions.add_parser("skills", help="list the skills of a person, and what is wrong with them")
        skills.add_argument(
            "folder", nargs="?", type=Path, help="take the skills of this folder or zip file in first, to be approved"
        )
        skills.add_argument("--replace", action="store_true", help="also those that are there already")
        skills.set_defaults(do=self.skills)

        lab = actions.add_parser("lab", help="ask the golden questions, and say how many find their line")
        lab.set_defaults(do=self.lab)

        for action in (skills, lab, status, index, search, flushing, importing, exporting, forget):
            action.add_argument("--user", metavar="EMAIL", help="whose memory")
            if action is not skills:
                action.add_argument(
                    "--space", metavar="NAME", help="the memory of this shared space, for --user if given"
                )
            needed = action in (skills, lab, search, importing, exporting, forget)
            action.set_defaults(needs_memory=needed)
            action.add_argument("--json", action="store_true", help="one JSON document on standard output")

    def handle(self, *args: Any, **options: Any) -> None:
        email, name = options["user"], options.pop("space", None)
        if options["needs_memory"] and not email and not name:
            raise CommandError("Say whose memory: --user EMAIL or --space NAME.")
        options["user"] = person(email) if email else None
        options["space"] = space_named(name, options["user"]) if name else None
        if options["space"] is not None and options["needs_memory"]:
            # An owner does it, unless somebody is named.
            options["user"] = options["user"] or options["space"].owner
        options["do"](**options)

    def status(
        self, *, user: User | None, space: Space | None, session: str | None, deep: bool, json: bool, **_: Any
    ) -> None:
        """Write how much there is and what is pending, or the coverage of the messages of one session."""
        if session is not None:
            (one,) = sessions_of(user, session)
            parts = [asdict(part) for part in coverage.of_session(one)]
            self.write_result({"session": str(one.pk), "messages": parts}, json, coverage_lines)
            return
        self.write_result(backlog.status(user, deep, space), json, backlog.in_words)

    def index(self, *, user: User | None, space: Space | None, force: bool, json: bool, **_: Any) -> None:
        """Update the search index. Raise CommandError if a document could not be indexed."""
        made = backlog.index_all(user, space, force=force, progress=self.progress)
        result = {"indexed": made.documents, "waiting": made.waiting, "failed": made.failed}
        self.write_result(result, json, lambda _: made.in_words())
        if made.failed:
            raise CommandError(f"{len(made.failed)} documents could not be indexed: {', '.join(made.failed[:5])}.")

    def search(self, *, user: User, space: Space | None, query: str, queries: str, json: bool, **options: Any) -> None:
        """Write the passages for one query, or for each query of a file."""
        limits = options["max_results"], options["min_score"]
        slack = PASSAGE_SLACK_POINTS if options["slack"] is None else options["slack"]
        said_by = user if space is None and switches.is_on(user, switches.Switch.TRANSCRIPTS) else None
        curation.record_command("memory search", space := space_or_own(user, space))
        manager = HybridSearchManager([space], Sources(transcripts_of=said_by, asked_by=user))
        if queries is not None:
            for asked in read_queries(queries, user):
                found = manager.search(asked["query"], *limits, asked["today"], slack)
                self.stdout.write(as_json({"id": asked["id"], "results": [as_result(one) for one in found]}))
            return
        found = manager.search(query, *limits, user.day(), slack)
        self.write_result([as_result(one) for one in found], json, passage_lines)

    def skills(self, *, user: User, folder: Path | None, replace: bool, json: bool, **_: Any) -> None:
        """List the skills of the person, after an import if `folder` is given. Raise CommandError if one of them cannot
        be used, or nothing could be imported."""
        if folder is not None:
            import_skills(user, folder, replaces=replace)
        curation.record_command("memory skills", Space.objects.own_of(user))
        listed = with_states(user, skills_of_person(user))
        rows = [
            {
                "name": each.skill.folder,
                "source": each.skill.source,
                "state": each.state.value,
                "faults": [reason.in_english for reason in each.skill.faults],
                "warnings": [reason.in_english for reason in each.skill.parsed.warnings],
            }
            for each in listed
        ]
        self.write_result(rows, json, skill_lines)
        if faulty := [row["name"] for row in rows if row["faults"]]:
            raise CommandError(f"{len(faulty)} skills cannot be used: {', '.join(map(str, faulty))}.")

    def lab(self, *, user: User, space: Space | None, json: bool, **_: Any) -> None:
        """Run the golden questions. Raise CommandError if fewer find their line since the last change."""
        space = space_or_own(user, space)
        made = golden.run(space, user)
        result = {"found": made.found if made else 0, "total": made.total if made else 0, "setup": golden.setup()}
        self.write_result(
            result, json, lambda _: [f"{result['found']} of {result['total']} questions find their line."]
        )
        if change := golden.drop(space):
            raise CommandError(f"Before the last change, {change[1].found} of {change[1].total} found it.")

    def flush(
        self, *, user: User | None, space: Space | None, session: str | None, wait: bool, json: bool, **_: Any
    ) -> None:
        """Enqueue flushes, or with `wait` run them. Raise CommandError if one of these failed."""
        asked = [(one, queued) for one in sessions_of(user, session, space) if (queued := flush.request(one, "shell"))]
        for one, queued in asked:
            if wait:
                backlog.finish_flushes(one)
            else:
                tasks.send(tasks.flush_session, queued.pk)
        rows = backlog.flushes_since(min(queued.pk for _, queued in asked), [one for one, _ in asked]) if asked else []
        self.write_result({"flushes": rows}, json, flush_lines)
        if errors := [row["error"] for row in rows if row["error"] and wait]:
            raise CommandError(f"{len(errors)} conversations could not be noted: {errors[0]}")

    def import_folder(self, *, user: User, space: Space | None, folder: Path, wait: bool, json: bool, **_: Any) -> None:
        """Import a workspace folder. Raise CommandError if a file was refused or, with `wait`, not indexed."""
        into = space_or_own(user, space, Space.objects.writable_by(user).filter(archived_at=None))
        report = with_folder(workspace.import_folder, folder, into, user)
        behind = backlog.index_all(user, space, progress=self.progress).failed if wait else []
        self.write_result(asdict(report) | {"not_indexed": behind}, json, lambda _: import_lines(report))
        if report.refused or behind:
            raise CommandError(f"{len(report.refused)} files were not taken, {len(behind)} are not indexed.")

    def export_folder(self, *, user: User, space: Space | None, folder: Path, json: bool, **_: Any) -> None:
        """Export the documents of the person or the space into a folder."""
        curation.record_command("memory export", space := space_or_own(user, space), exported="memory")
        report = with_folder(workspace.export_folder, folder, space)
        self.write_result({"written": report.written}, json, lambda _: [f"{len(report.written)} files were written."])

    def forget(
        self,
        *,
        user: User,
        space: Space | None,
        lines: list[str],
        words: str | None,
        dry_run: bool,
        json: bool,
        **_: Any,
    ) -> None:
        """Forget lines and write the receipt, or with `dry_run` only list what would be removed."""
        space = space_or_own(user, space, spaces_to_forget_in(user))
        if dry_run:
            curation.record_command("memory forget --dry-run", space)
        if words is not None:
            lines = lines + forget_plans.lines_with(space, words)
        try:
            # Words that no line has were forgotten before, or were never there.
            is_absent = bool(words and words.strip()) and not lines
            plan = forget_plans.ForgettingPlan([]) if is_absent else forget_plans.plan(space, lines)
            is_done = plan.is_empty and forget_plans.are_forgotten(space, plan.lines)
            done = None if dry_run or is_done else forgetting.forget(space, lines, user, plan.digest)
        except forget_plans.ForgetError as error:
            raise CommandError(str(error)) from error
        result = {
            "dry_run": dry_run,
            "receipt": done.pk if done else None,
            "hashes": done.hashes if done else [],
            "counts": done.counts if done else plan.counts,
            "documents": [asdict(going) for going in plan.documents] if dry_run else [],
            "files": plan.files,
        }
        self.write_result(result, json, forgetting_lines)

    def write_result(self, value: Any, json: bool, lines: Any) -> None:
        """Write `value` as JSON, or as the text that `lines` makes of it."""
        self.stdout.write(as_json(value) if json else "\n".join(lines(value)))

    def progress(self, done: int, total: int) -> None:
        """Write the progress to a terminal, on one line."""
        if self.stderr.isatty():
            self.stderr.write(f"\r{done} of {total}", ending="\n" if done == total else "")


def sessions_of(user: User | None, session: str | None, space: Space | None = None) -> Iterable[ChatSession]:
    """Return the conversations of `user`, those shared with `space`, or the one with the id `session`; with several, it
    must be of each.

    Raise CommandError if there is no such conversation, or if neither is given.
    """
    sessions = ChatSession.objects.filter(deleted_at=None)
    if user is not None:
        sessions = sessions.filter(owner=user)
    elif session is None and space is None:
        raise CommandError("Say which conversations: --session ID, --user EMAIL or --space NAME.")
    if space is not None:
        sessions = sessions.filter(SHARED, space=space)
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
    """Call `act` with the folder. Raise CommandError if the folder cannot be used."""
    try:
        return act(folder, *args)
    except workspace.FolderError as error:
        raise CommandError(str(error)) from error
    except OSError as error:
        raise CommandError(f"{error.filename or folder} cannot be used: {error.strerror}.") from error


def import_lines(report: workspace.Report) -> Iterator[str]:
    yield f"{len(report.written)} documents were taken in, {len(report.unchanged)} are unchanged."
    if report.skipped:
        yield f"{len(report.skipped)} other files were left aside."
    if report.waiting:
        yield f"Used after a yes in the inbox: {', '.join(report.waiting)}."
    yield from report.refused.values()


def import_skills(user: User, source: Path, *, replaces: bool) -> None:
    """Import the skills of a folder or a zip file. Raise CommandError."""
    try:
        if source.is_dir():
            importing.import_folder(user, source, replaces=replaces)
        else:
            importing.import_zip(user, source.name, source.read_bytes(), replaces=replaces)
    except importing.SkillImportError as error:
        raise CommandError(str(error)) from error
    except OSError as error:
        raise CommandError(f"{source} cannot be read: {error.strerror}.") from error


def skill_lines(rows: list[dict[str, Any]]) -> Iterator[str]:
    for row in rows:
        yield f"{row['name']} ({row['source']}): {row['state']}"
        yield from (f"    {sentence}" for sentence in [*row["faults"], *row["warnings"]])
    if not rows:
        yield "There are no skills."


def flush_lines(result: dict[str, Any]) -> Iterator[str]:
    for row in result["flushes"]:
        yield f"{row['session']}: {row['status']}" + (
            f", messages {row['after'] + 1}–{row['through']}" if row["through"] else ""
        )
    if not result["flushes"]:
        yield "There is nothing new to note."


def forgetting_lines(result: dict[str, Any]) -> Iterator[str]:
    if not any(result["counts"].values()) and not result["receipt"]:
        yield "There is nothing to forget."
        return
    yield "This would go:" if result["dry_run"] else f"Forgotten; receipt {result['receipt']}:"
    for document in result["documents"]:
        yield from (f"{document['path']}:{number}: {line}" for number, line in document["lines"])
        yield from (f"{document['path']}, earlier: {line}" for line in document["earlier"])
    yield ", ".join(f"{name.replace('_', ' ')}: {count}" for name, count in result["counts"].items())


def coverage_lines(result: dict[str, Any]) -> Iterator[str]:
    for part in result["messages"]:
        yield f"{part['first']}–{part['last']}: {part['state']}, {part['why']}"


def read_queries(name: str, user: User) -> Iterator[dict[str, Any]]:
    """Yield the queries of the JSON lines file `name` (- is standard input). Raise CommandError if one is invalid."""
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
    """Return the day that counts as today: the date of `moment`, or, if it has a time zone, the day of `user` then."""
    if not moment:
        return user.day()
    at = dt.datetime.fromisoformat(moment)
    return at.date() if at.tzinfo is None else user.day(at)


def as_result(passage: Passage) -> dict[str, Any]:
    names = ("path", "start_line", "end_line", "score", "vector_score", "text_score", "snippet")
    return {name: getattr(passage, name) for name in names}


def passage_lines(results: list[dict[str, Any]]) -> Iterator[str]:
    for result in results:
        yield f"{result['path']}:{result['start_line']}-{result['end_line']}  {result['score']:.2f}"
        yield "\n".join(f"    {line}" for line in result["snippet"].split("\n"))
    if not results:
        yield "Nothing was found."


def as_json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
