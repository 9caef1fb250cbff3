"""What the chat adds to the archive of a person: conversations with files and ratings, and what belongs to them.

conversations/0001 <id>.json     as docs/export.md describes it, archived ones too
files/<id>/<name>                the attached files, byte for byte
chat.json                        agents, saved prompts, scheduled tasks
"""

import datetime as dt
import uuid
from collections.abc import Iterator, Mapping
from typing import Any

from django.conf import settings
from django.core.exceptions import ValidationError
from django.db import DataError, IntegrityError, transaction
from django.utils import timezone

from chat import extensions
from chat.attachments import disk, store
from chat.attachments.examine import FileRefusedError
from chat.conversations import agents
from chat.library import saved_prompts
from chat.models import Agent, Attachment, ChatSession, Schedule
from chat.transfer.export import as_json
from chat.transfer.importing import create, formats, reasons
from oneclaw.domains import Alive, ArchivePart
from oneclaw.leaving.archive import JSON_MAX_BYTES, json_entry, json_of
from oneclaw.models import User
from oneclaw.text import UserFacingError, replace_unstorable_in_json
from oneclaw.zipping import ArchiveReader, MemberTooLargeError, ZipEntry

CONVERSATIONS, FILES, CHAT = "conversations/", "files/", "chat.json"
# Namespace of the ids of imported files: the same file of the same person has the same id each time.
IMPORTED_FILES = uuid.UUID("3b1f2c84-8f6e-4c0c-9b61-0d8b9b0c9a11")
SCHEDULE_FIELDS = (
    "kind", "text", "every_minutes", "from_time", "until_time", "repeat", "at", "days", "month_day", "on",
)  # fmt: skip


def write(user: User) -> Iterator[ZipEntry]:
    """Yield the files of the chat."""
    # A shared one of theirs is not theirs to read any more when they have left its space.
    sessions = ChatSession.objects.visible_to(user).filter(owner=user).written().order_by("created_at", "pk")
    for number, session_id in enumerate(list(sessions.values_list("pk", flat=True)), 1):
        session = sessions.select_related("owner", "agent", "folder").filter(pk=session_id).first()
        if session is not None:
            pieces = (piece.encode() for piece in as_json(session, with_file_ids=True))
            yield ZipEntry(f"{CONVERSATIONS}{number:04} {session_id}.json", pieces, user.local(session.active_at))
    files = Attachment.objects.filter(owner=user).exclude(message=None).exclude(session__deleted_at__isnull=False)
    for file in files.order_by("created_at", "pk").defer("text").iterator(chunk_size=200):
        data = disk.read(user.pk, str(file.pk))
        if data is not None:
            yield ZipEntry(f"{FILES}{file.pk}/{file.name}", [data], user.local(file.created_at))
    yield json_entry(
        user,
        CHAT,
        {
            "agents": [written_agent(agent) for agent in Agent.objects.own_of(user)],
            "prompts": [{"name": each.name, "text": each.text} for each in user.saved_prompts.all()],
            "tasks": [written_schedule(each) for each in Schedule.objects.visible_to(user).confirmed().order_by("pk")],
        },
    )


def written_agent(agent: Agent) -> dict[str, Any]:
    fields = ("name", "instructions", "model", "effort", "dm_scope", "tools_off", "tools_on", "own_memory")
    return {name: getattr(agent, name) for name in fields}


def written_schedule(schedule: Schedule) -> dict[str, Any]:
    values = {name: getattr(schedule, name) for name in SCHEDULE_FIELDS}
    return {
        name: value.isoformat() if isinstance(value, dt.time | dt.date) else value for name, value in values.items()
    }


def read(user: User, incoming: ArchiveReader, alive: Alive) -> Mapping[str, int]:
    """Take in agents, prompts and tasks, then files and conversations."""
    kept: Any = replace_unstorable_in_json(json_of(incoming, CHAT))
    for each in listed(kept, "agents"):
        take_agent(user, each)
    for each in listed(kept, "prompts"):
        take_prompt(user, each)
    for each in listed(kept, "tasks"):
        take_schedule(user, each)
    counts = {"conversations": 0, "conversations_known": 0, "conversations_refused": 0}
    for name in incoming.names(CONVERSATIONS):
        counts[take_conversation(user, incoming, name)] += 1
        alive()
    return counts


def listed(value: Mapping[str, Any], name: str) -> list[dict[str, Any]]:
    found = value.get(name)
    return [each for each in found if isinstance(each, dict)] if isinstance(found, list) else []


def take_agent(user: User, value: dict[str, Any]) -> None:
    """Make the agent, unless the person has one of this name."""
    if Agent.objects.own_of(user).filter(name=value.get("name")).exists():
        return
    off, on = names_in(value.get("tools_off")), names_in(value.get("tools_on"))
    tools = set(extensions.tool_labels()) - (extensions.optional_tools().keys() - on) - off
    memory = "own" if value.get("own_memory") is True else ""
    try:
        agents.create(
            user,
            agents.checked_draft(
                value.get("name"),
                value.get("instructions") or "",
                value.get("model") or "",
                tools,
                memory,
                value.get("effort") or "",
                value.get("dm_scope") or "",
            ),
        )
    except UserFacingError:
        # Its model is not offered here, or there are too many.
        return


def names_in(value: object) -> set[str]:
    """Return the names in a list of an archive; none when it is no list."""
    return set(map(str, value)) if isinstance(value, list) else set()


def take_prompt(user: User, value: dict[str, Any]) -> None:
    try:
        saved_prompts.save(user, value.get("name"), value.get("text"))
    except UserFacingError:
        # Its name is taken: also by itself, the second time.
        return


def take_schedule(user: User, value: dict[str, Any]) -> None:
    """Make the schedule, switched off: the person switches it on when it should run here."""
    fields = {name: value[name] for name in SCHEDULE_FIELDS if value.get(name) is not None}
    row = Schedule(owner=user, enabled=False, **fields)
    try:
        row.clean_fields(exclude=["owner", "agent", "conversation"])
        same = {name: getattr(row, name) for name in ("kind", "text", "repeat", "at", "on", "month_day", "days")}
        if row.kind == Schedule.Kind.HEARTBEAT:
            same = {"kind": row.kind}
        if Schedule.objects.filter(owner=user, **same).exists():
            return
        row.confirmed_at = row.created_at = timezone.now()
        with transaction.atomic():
            row.save()
    except (ValidationError, IntegrityError, DataError, TypeError, ValueError):
        return


def take_conversation(user: User, incoming: ArchiveReader, path: str) -> str:
    """Take in the conversation at `path` with its files; return the code of what came of it."""
    try:
        raw = incoming.read(path, JSON_MAX_BYTES) or b""
        conversation = formats.conversation_of(raw, lambda id, name: file_block(user, incoming, id, name))
        with transaction.atomic():
            if create.session_of(user, conversation.origin) is not None:
                return "conversations_known"
            session = create.create_session(user, conversation)
            for file in Attachment.objects.unsent().filter(owner=user, names__message__session=session).distinct():
                message = session.messages.filter(file_names__attachment=file.pk).order_by("seq").first()
                Attachment.objects.filter(pk=file.pk).update(session=session, message=message)
    except (reasons.NotImportableError, DataError, MemberTooLargeError):
        return "conversations_refused"
    return "conversations"


def file_block(user: User, incoming: ArchiveReader, id: str, name: str) -> Any:
    """Store the file of the archive that a message names, and return the block that references it; None without it."""
    found = next(iter(incoming.names(f"{FILES}{id}/")), None)
    if found is None:
        return None
    try:
        data = incoming.read(found, settings.FILES.max_bytes) or b""
        return store.store_file(user, name, data, uuid.uuid5(IMPORTED_FILES, f"{user.pk} {id}")).reference()
    except (FileRefusedError, MemberTooLargeError):
        return None


PART = ArchivePart(write, read)
