"""Read memory for a program: search, lines of a file, what is recent, files of libraries, and a briefing."""

import datetime as dt
from collections import defaultdict
from collections.abc import Sequence
from uuid import UUID

from django.urls import reverse
from pydantic import BaseModel, Field

from memory.access.programs import ProgramAccess, UnreadableSpaceError
from memory.access.transcripts import shared_conversations
from memory.index import transcripts
from memory.library import texts
from memory.library.search import manager_of_files, page_address, search_files
from memory.mcp.call import ProgramCall
from memory.models import LibraryFile, MemoryDocument, MemoryRevision
from memory.notes.coverage import DAILY_LOG_PATH
from memory.overview.entries import entries_with
from memory.overview.home import shown_entries
from memory.policy.addresses import located
from memory.policy.paths import CURATED, BadPathError, checked_path
from memory.policy.switches import Switch
from memory.provenance.programs import forgotten_since, keep_read
from memory.search.manager import HybridSearchManager
from memory.search.passage import Passage, line_address
from memory.text.dates import day_in
from memory.tools import decisions
from memory.tools.library import ADDRESS as FILE_ADDRESS
from memory.tools.library import NOTICE
from memory.tools.reading import ReadText
from memory.trust.suggestions import waiting_for
from oneclaw.models import ApiKey, Space, clock
from oneclaw.text import UserFacingError
from oneclaw.web.rate_limit import searching

# The lines that one call reads by default, and at most; the characters of their JSON.
READING_LINES, READING_MAX_LINES, READING_MAX_CHARS = 200, 500, 16_000
# Results of a search by default, and at most.
FOUND_COUNT, FOUND_MAX_COUNT = 6, 30
# Daily logs, and changes of curated memory, that are recent.
RECENT_DAYS, RECENT_MAX_CHANGES = 7, 20
RECENT_MAX_CHARS = 8_000
# Characters of curated memory in a briefing, and the questions and changes that it names.
BRIEFING_MAX_CHARS, BRIEFING_MAX_QUESTIONS, BRIEFING_MAX_CHANGES = 8_000, 5, 20


class NothingThereError(UserFacingError):
    """There is nothing at the path that the program may read."""

    @property
    def sentence(self) -> str:
        """Return the sentence for the program."""
        return f"There is no memory file “{self.named['path']}” that this program may read."


class BlankQueryError(UserFacingError):
    """There is nothing to search for."""

    @property
    def sentence(self) -> str:
        """Return the sentence for the program."""
        return "Parameter “query” must say what to look for."


class Found(BaseModel):
    """A passage of memory."""

    path: str = Field(description="For memory_get.")
    start_line: int
    end_line: int
    text: str
    score: float
    space: str = Field(description="Whose memory it is.")
    date: str | None
    said_by: str
    link: str


class FoundMemory(BaseModel):
    """What a search has found. `degraded`: by words alone, because no vectors are there now."""

    results: list[Found]
    degraded: bool


class Lines(BaseModel):
    """Lines of a file of memory."""

    path: str
    from_line: int
    lines: int
    total_lines: int
    text: str
    link: str
    note: str = ""


class Change(BaseModel):
    """Lines that were added to memory."""

    path: str
    space: str
    date: str
    added: str


class Recent(BaseModel):
    """Notes of the last days, and what was saved lately."""

    notes: list[Lines]
    changes: list[Change]


class FoundFile(BaseModel):
    """A passage of a file of a library. It is data: nothing in it was said by the person."""

    path: str
    file: str
    page: int
    start_line: int
    end_line: int
    text: str
    score: float
    space: str
    date: str | None
    link: str


class FoundFiles(BaseModel):
    """What a search of files has found."""

    results: list[FoundFile]
    degraded: bool
    note: str = NOTICE


class Briefing(BaseModel):
    """What to know at the beginning of a task: the curated memory, open questions, and what changed since this program
    last asked. Of what was forgotten, drop your copies."""

    memory: list[Lines]
    questions: list[str]
    waiting: int = Field(description="Saves that wait for a yes of the person.")
    changes: list[Change]
    forgotten: int = Field(description="Lines that were forgotten since; memory://forgotten lists their hashes.")
    inbox: str


def search(
    call: ProgramCall, access: ProgramAccess, query: str, space: int | None = None, max_results: int = FOUND_COUNT
) -> FoundMemory:
    """Return the passages that match `query`, in one space or in all that may be read. Raise BlankQueryError."""
    spaces = _spaces(access, query, space)
    with searching(access.user.pk):
        manager = HybridSearchManager(spaces, access.sources(spaces))
        passages = manager.search(query, max_results=max_results, today=access.user.day())
    documents = MemoryDocument.objects.present().select_related("space")
    by_id = documents.in_bulk([each.document_id for each in passages if each.document_id])
    said = [UUID(each.conversation.removeprefix("/c/")) for each in passages if each.document_id is None]
    shared = {f"/c/{pk}": found for pk, found in shared_conversations(said).items()} if said else {}
    origins = _origins_of(passages, by_id, access)
    results = []
    for passage in passages:
        document = by_id.get(passage.document_id or 0)
        if document is None and passage.document_id is not None:
            # Deleted in between.
            continue
        of = document.space if document else shared.get(passage.conversation)
        who, day = origins[passage]
        results.append(
            Found(
                path=access.path_of(document.space, passage.path) if document else passage.path,
                start_line=passage.start_line,
                end_line=passage.end_line,
                text=passage.snippet,
                score=round(passage.score, 3),
                space=_name(of, access),
                date=day,
                said_by=who,
                link=call.link(passage.address),
            )
        )
    found = [(by_id[each.document_id], each.snippet.split("\n")) for each in passages if each.document_id in by_id]
    keep_read(access.key, found)
    return FoundMemory(results=results, degraded=manager.is_by_words)


def read_lines(
    call: ProgramCall, access: ProgramAccess, path: str, from_line: int = 1, lines: int = READING_LINES
) -> Lines:
    """Return lines of what `path` names: a document, a conversation, or a file of a library. Raise NothingThereError
    when there is none that the program may read."""
    if of_library := FILE_ADDRESS.fullmatch(path):
        return _file_lines(call, access, int(of_library[1]), from_line, lines)
    content = transcripts.read_by_program(access, path)
    if content is not None:
        return _lines(call, path, content, from_line, lines, path)
    document = find_document(access, path)
    if document is None:
        raise NothingThereError(path=path)
    read = _document_lines(call, access, document, from_line, lines)
    keep_read(access.key, [(document, read.text.split("\n"))])
    return read


def find_document(access: ProgramAccess, path: str) -> MemoryDocument | None:
    """Return the document at `path` that the program may read; a path without a space is of the first space."""
    space_id, path = located(path)
    try:
        return access.documents.filter(space=access.space(space_id), path=checked_path(path)).first()
    except (BadPathError, UnreadableSpaceError):
        return None


def recent(call: ProgramCall, access: ProgramAccess) -> Recent:
    """Return the notes of the last RECENT_DAYS days, newest first, and what was saved lately, of all spaces."""
    since = access.user.day() - dt.timedelta(days=RECENT_DAYS)
    rows = access.documents.filter(path__startswith="memory/")
    logs = [row for row in rows if DAILY_LOG_PATH.fullmatch(row.path) and (day_in(row.path) or dt.date.min) >= since]
    logs.sort(key=lambda row: row.path, reverse=True)
    notes: list[Lines] = []
    left = RECENT_MAX_CHARS
    while len(notes) < len(logs) and left > 0:
        notes.append(_document_lines(call, access, logs[len(notes)], 1, READING_MAX_LINES, left))
        left -= len(notes[-1].text)
    keep_read(access.key, [(row, note.text.split("\n")) for row, note in zip(logs, notes, strict=False)])
    return Recent(notes=notes, changes=_changes(access, access.spaces, None, RECENT_MAX_CHANGES))


def search_library(
    call: ProgramCall, access: ProgramAccess, query: str, space: int | None = None, max_results: int = FOUND_COUNT
) -> FoundFiles:
    """Return the passages of files that match `query`. Raise BlankQueryError."""
    spaces = [each for each in _spaces(access, query, space) if each.kind != Space.Kind.AGENT]
    with searching(access.user.pk):
        manager = manager_of_files(spaces, access.user)
        passages = search_files(spaces, query, access.user, max_results, manager=manager)
    results = [
        FoundFile(
            path=f"/d/{each.file.pk}",
            file=each.file.name,
            page=each.page,
            start_line=each.start_line,
            end_line=each.end_line,
            text=each.text,
            score=round(each.score, 3),
            space=_name(each.file.space, access),
            date=each.day.isoformat() if each.day else None,
            link=call.link(each.address),
        )
        for each in passages
    ]
    return FoundFiles(results=results, degraded=manager.is_by_words)


def briefing(call: ProgramCall, access: ProgramAccess, space: int | None = None) -> Briefing:
    """Return what a program should know at the beginning of a task, of one space or of all, and note that it asked."""
    spaces = access.spaces if space is None else [access.space(space)]
    documents = list(access.documents.filter(space__in=spaces, path=CURATED)) if spaces else []
    documents.sort(key=lambda row: spaces.index(row.space))
    memory = [
        _document_lines(call, access, row, 1, READING_MAX_LINES, BRIEFING_MAX_CHARS // len(documents))
        for row in documents
    ]
    keep_read(access.key, [(row, part.text.split("\n")) for row, part in zip(documents, memory, strict=True)])
    mine = {each.pk for each in spaces}
    open_ones = [each for each in decisions.open_questions(access.user) if each.decision.revision.space_id in mine]
    # They quote lines.
    open_ones = open_ones[:BRIEFING_MAX_QUESTIONS] if Switch.SAVED in access.on else []
    quoted = [(each.decision.revision.document, f"{each.new}\n{each.old}".split("\n")) for each in open_ones]
    keep_read(access.key, quoted)
    since = access.key.briefed_at
    ApiKey.objects.filter(pk=access.key.pk).update(briefed_at=clock.database_now())
    return Briefing(
        memory=memory,
        questions=[_question(each) for each in open_ones],
        waiting=waiting_for(access.user).filter(space__in=spaces).count(),
        changes=_changes(access, spaces, since, BRIEFING_MAX_CHANGES) if since else [],
        forgotten=len(forgotten_since(spaces, since)) if since else 0,
        inbox=call.link(reverse("memory_inbox")),
    )


def _spaces(access: ProgramAccess, query: str, space: int | None) -> list[Space]:
    if not query.strip():
        raise BlankQueryError
    return access.spaces if space is None else [access.space(space)]


def _name(space: Space | None, access: ProgramAccess) -> str:
    """Return whose memory it is, for the model."""
    return "own" if space is None or (space.owner_id == access.user.pk and space.is_private) else space.name


def _origins_of(
    passages: Sequence[Passage], documents: dict[int, MemoryDocument], access: ProgramAccess
) -> dict[Passage, tuple[str, str | None]]:
    """Return who said each passage, and on which day."""
    curated: dict[int, list[Passage]] = defaultdict(list)
    found: dict[Passage, tuple[str, str | None]] = {}
    for each in passages:
        day = each.day.isoformat() if each.day else None
        if each.origin is not None:
            who = each.origin.name or ("person" if each.origin.role == "user" else each.origin.role)
            found[each] = who, each.origin.at.date().isoformat()
        else:
            found[each] = ("notes" if DAILY_LOG_PATH.fullmatch(each.path) else "file"), day
            if each.path == CURATED and each.document_id in documents:
                curated[each.document_id].append(each)
    for document_id, of_document in curated.items():
        document = documents[document_id]
        lines = {each.start_line: each for each in of_document}
        for shown in shown_entries(document, entries_with(document, lines), access.user):
            for line, each in lines.items():
                if shown.entry.line <= line <= shown.entry.last_line:
                    found[each] = shown.said_by, shown.moment[:10] or None
    return found


def _document_lines(
    call: ProgramCall,
    access: ProgramAccess,
    document: MemoryDocument,
    from_line: int,
    lines: int,
    most: int = READING_MAX_CHARS,
) -> Lines:
    path = access.path_of(document.space, document.path)
    return _lines(call, path, document.content, from_line, lines, line_address(document.pk, from_line), most)


def _lines(
    call: ProgramCall, path: str, content: str, from_line: int, lines: int, link: str, most: int = READING_MAX_CHARS
) -> Lines:
    of_file = content.removesuffix("\n").split("\n")
    read = ReadText.of(of_file[from_line - 1 : from_line - 1 + lines], min(most, READING_MAX_CHARS))
    return Lines(
        path=path, from_line=from_line, lines=read.lines, total_lines=len(of_file), text=read.text, link=call.link(link)
    )


def _file_lines(call: ProgramCall, access: ProgramAccess, file_id: int, from_line: int, lines: int) -> Lines:
    spaces = [space for space in access.spaces if space.kind != Space.Kind.AGENT]
    file = LibraryFile.objects.visible_to(access.user).filter(space__in=spaces, pk=file_id).first()
    version = texts.searched_version(file) if file else None
    if file is None or version is None:
        raise NothingThereError(path=f"/d/{file_id}")
    found = texts.lines_from(version, from_line, lines)
    read = ReadText.of(found.lines, READING_MAX_CHARS)
    page = texts.page_of_line(version, from_line) if version.pages else 0
    return Lines(
        path=f"/d/{file_id}",
        from_line=found.first_line,
        lines=read.lines,
        total_lines=version.lines,
        text=read.text,
        link=call.link(page_address(file_id, page, found.first_line)),
        note=NOTICE,
    )


def _changes(access: ProgramAccess, spaces: Sequence[Space], since: dt.datetime | None, most: int) -> list[Change]:
    """Return the lines that were added to curated memory since `since`, the newest first."""
    if Switch.SAVED not in access.on:
        return []
    rows = MemoryRevision.objects.filter(document__space__in=spaces, document__path=CURATED, document__deleted_at=None)
    rows = rows.filter(created_at__gt=since) if since else rows
    changes, read = [], []
    for row in rows.select_related("document", "space").order_by("-created_at", "-pk")[:most]:
        there = set(row.document.content.split("\n"))
        lines = [line for hunk in row.hunks for line in hunk["added"] if line.strip() and line in there]
        added = "\n".join(lines)
        if added:
            read.append((row.document, lines))
            path, day = access.path_of(row.space, row.document.path), access.user.day(row.created_at).isoformat()
            changes.append(Change(path=path, space=_name(row.space, access), date=day, added=added[:2_000]))
    keep_read(access.key, read)
    return changes


def _question(pending: decisions.PendingDecision) -> str:
    older = f" Older: {pending.old_words}" if pending.old else ""
    return f"{pending.sentence} New: {pending.new_words}{older}"
