"""What memory adds to the archive of a person: every document byte for byte, its history to read, the own library, and
the switches.

memory/<path>                   the documents of the person's own memory, as in their folder
memory-of-agents/<name>/<path>  those of agents that have a memory of their own
history/<path>.md               what changed in each document, when and by whom; it is not imported
library/, library-versions/     the files of the own library (memory/transfer/library.py)
memory.json                     the switches
"""

import datetime as dt
from collections.abc import Iterator, Mapping

from django.db import transaction

from chat.models import Agent
from memory.access.rights import agent_space
from memory.documents import write
from memory.documents.write import Author, Replace, Source
from memory.models import MemoryDocument, SwitchChoice
from memory.policy import switches
from memory.policy.paths import DOCUMENT_MAX_BYTES, BadPathError, checked_path
from memory.transfer import library
from memory.trust import instructions
from oneclaw.domains import Alive, ArchivePart
from oneclaw.leaving.archive import json_entry, json_of
from oneclaw.models import Space, User
from oneclaw.reasons import Reason
from oneclaw.text import InvalidTextError
from oneclaw.zipping import ArchiveReader, MemberTooLargeError, ZipEntry

MEMORY, OF_AGENTS, HISTORY, CHOICES = "memory/", "memory-of-agents/", "history/", "memory.json"


def own_files(user: User) -> Iterator[ZipEntry]:
    """Yield the files of memory."""
    own = Space.objects.own_of(user)
    yield from documents(user, own, MEMORY)
    yield from history(user, own)
    for space, name in Space.objects.filter(owner=user, of_agent__isnull=False).values_list(
        "pk", "of_agent__agent__name"
    ):
        yield from documents(user, Space.objects.get(pk=space), f"{OF_AGENTS}{name.replace('/', '_')}/")
    yield from library.entries(user, own)
    chosen = {choice.switch: choice.on for choice in switches.newest_choices(user.pk)}
    yield json_entry(user, CHOICES, {"switches": chosen})


def documents(user: User, space: Space, folder: str) -> Iterator[ZipEntry]:
    """Yield the documents of `space`, byte for byte."""
    for document in MemoryDocument.objects.present().filter(space=space).order_by("path").iterator(chunk_size=20):
        yield ZipEntry(f"{folder}{document.path}", [document.content.encode()], user.local(document.updated_at))


def history(user: User, space: Space) -> Iterator[ZipEntry]:
    """Yield the history of each document, deleted ones too, as Markdown."""
    for document in MemoryDocument.objects.filter(space=space).order_by("path").iterator(chunk_size=20):
        yield ZipEntry(f"{HISTORY}{document.path}.md", history_of(user, document), user.local(document.updated_at))


def history_of(user: User, document: MemoryDocument) -> Iterator[bytes]:
    """Yield the revisions of `document`, oldest first: a heading, and the lines that went and came."""
    yield f"# {document.path}\n".encode()
    revisions = document.revisions.select_related("author").order_by("number")
    for revision in revisions.iterator(chunk_size=100):
        who = f", {revision.author}" if revision.author else ""
        why = f": {revision.reason.in_english}" if revision.reason else ""
        lines = [f"\n## {revision.number}. {written(user.local(revision.created_at))}, {revision.source}{who}{why}\n"]
        for hunk in revision.hunks:
            lines += ["", "```diff", f"@@ line {hunk['at'] + 1}"]
            lines += [*(f"-{line}" for line in hunk["removed"]), *(f"+{line}" for line in hunk["added"]), "```"]
        yield ("\n".join(lines) + "\n").encode()


def written(moment: dt.datetime) -> str:
    """Return a local time as the history says it."""
    return f"{moment:%Y-%m-%d %H:%M}"


def read(user: User, incoming: ArchiveReader, alive: Alive) -> Mapping[str, int]:
    """Write the documents and files of the archive, and make the choices of its switches. What it lacks stays."""
    found = json_of(incoming, CHOICES).get("switches")
    for name, on in found.items() if isinstance(found, dict) else ():
        if name in SwitchChoice.Switch.values and isinstance(on, bool):
            switches.choose(user, SwitchChoice.Switch(name), on)
    counts = {"documents": 0, "documents_known": 0, "documents_refused": 0}
    own = Space.objects.own_of(user)
    for name in incoming.names(MEMORY):
        counts[take(user, own, name.removeprefix(MEMORY), incoming, name)] += 1
        alive()
    for agent in Agent.objects.own_of(user).filter(own_memory=True):
        folder = f"{OF_AGENTS}{agent.name.replace('/', '_')}/"
        for name in incoming.names(folder):
            space = agent_space(agent, user)
            counts[take(user, space, name.removeprefix(folder), incoming, name)] += 1
            alive()
    return {**counts, **library.take(user, own, incoming, alive)}


def take(user: User, space: Space, path: str, incoming: ArchiveReader, name: str) -> str:
    """Write the document at `name` of the archive; return the code of what came of it."""
    try:
        data = incoming.read(name, DOCUMENT_MAX_BYTES) or b""
        path, content = checked_path(path), data.decode()
        held = space.documents.filter(path=path).first()
        if held is not None and not held.is_deleted and held.content == content:
            return "documents_known"
        with transaction.atomic():
            author = Author(Source.IMPORT, user, reason=Reason("change.folder_imported"))
            write.apply(space, path, Replace(content, held.version if held else 0), author)
            instructions.ask_about(space, path, content, "account")
    except (UnicodeDecodeError, BadPathError, InvalidTextError, write.DocumentError, MemberTooLargeError):
        return "documents_refused"
    return "documents"


PART = ArchivePart(own_files, read)
