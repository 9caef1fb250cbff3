"""Provide libraries in the shell: `library add FOLDER`, `library list`, `library export FOLDER`."""

import json
import time
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from chat.attachments.examine import FileRefusedError
from memory.access.rights import may_write
from memory.library import files, reading
from memory.models import FileVersion, LibraryFile
from memory.policy import curation
from memory.transfer import library
from memory.transfer.library import FOLDER_MARK
from memory.transfer.workspace import FolderError
from oneclaw.management.arguments import person, space_named, space_or_own
from oneclaw.models import Space, User
from oneclaw.tasks import only_rows, send

WAIT_SECONDS = 0.2


class Command(BaseCommand):
    help = "Add files to the library of a person or a space, list them with their states, and export them."
    # With --json standard output is one JSON document and nothing else.
    requires_system_checks = []

    def add_arguments(self, parser: CommandParser) -> None:
        actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
        add = actions.add_parser("add", help="add a file, or all files of a folder and the folders in it")
        add.add_argument("path", type=Path)
        add.add_argument("--wait", action="store_true", help="read them here, and return when it is done")
        add.set_defaults(do=self.add)
        listing = actions.add_parser("list", help="the files, each with the state of its newest version")
        listing.set_defaults(do=self.list_files)
        export = actions.add_parser("export", help="write the newest version of each file below a folder")
        export.add_argument("path", type=Path)
        export.set_defaults(do=self.export)
        for action in (add, listing, export):
            action.add_argument("--user", metavar="EMAIL", required=True, help="who adds or asks")
            action.add_argument("--space", metavar="NAME", help="the library of this space; without it, the own one")
            action.add_argument("--json", action="store_true", help="one JSON document on standard output")

    def handle(self, *args: Any, **options: Any) -> None:
        user = person(options["user"])
        space = space_named(options["space"], user) if options["space"] else None
        report = options["do"](user, space_or_own(user, space), options)
        if options["json"]:
            self.stdout.write(json.dumps(report, ensure_ascii=False))
            return
        for each in report:
            self.stdout.write(f"{each['state']:8} {each['name']}{': ' + each['reason'] if each['reason'] else ''}")

    def add(self, user: User, space: Space, options: dict[str, Any]) -> list[dict[str, Any]]:
        """Add the files, and return their states."""
        if not may_write(user, space.pk):
            raise CommandError(f"{user} may read “{space.name}”, and not change it.")
        versions: list[FileVersion] = []
        refused: list[dict[str, Any]] = []
        # So many hints would delay what people wait for: two workers read one file after the other.
        with only_rows():
            for path, name in named_files(options["path"]):
                try:
                    versions.append(files.add(space, user, name, path.read_bytes()))
                except FileRefusedError as refusal:
                    refused.append({"name": name, "state": "refused", "reason": refusal.sentence})
        if options["wait"]:
            wait(versions)
        else:
            for version in versions[: FileVersion.SWEEP_MAX_COUNT]:
                send(FileVersion.TASK, version.pk)
        fresh = FileVersion.objects.filter(pk__in=[version.pk for version in versions]).select_related("file")
        return [*map(row_of, fresh.order_by("file__name")), *refused]

    def export(self, user: User, space: Space, options: dict[str, Any]) -> list[dict[str, Any]]:
        """Write the files below a folder, and return their paths."""
        curation.record_command("library export", space, exported="library")
        try:
            written = library.export_folder(options["path"], space)
        except FolderError as error:
            raise CommandError(str(error)) from error
        return [{"name": path, "state": "written", "reason": ""} for path in written]

    def list_files(self, user: User, space: Space, options: dict[str, Any]) -> list[dict[str, Any]]:
        """Return the state of the newest version of each file."""
        curation.record_command("library list", space)
        found = LibraryFile.objects.visible_to(user).filter(space=space)
        newest = FileVersion.objects.filter(file__in=found).order_by("file__name", "file", "-number")
        return [row_of(version) for version in newest.distinct("file__name", "file").select_related("file")]


def named_files(path: Path) -> list[tuple[Path, str]]:
    """Return each file at or below `path` with its name in the library, without hidden ones and symbolic links."""
    if path.is_file():
        return [(path, path.name)]
    if not path.is_dir():
        raise CommandError(f"There is no file or folder {path}.")
    inside = sorted(each for each in path.rglob("*") if each.is_file() and not each.is_symlink())
    named = [(each, each.relative_to(path).parts) for each in inside]
    return [(each, FOLDER_MARK.join(parts)) for each, parts in named if not any(part.startswith(".") for part in parts)]


def wait(versions: list[FileVersion]) -> None:
    """Read `versions` in this process, unless a worker does, and return when none is open."""
    ids = [version.pk for version in versions]
    while open_ids := list(FileVersion.objects.open().filter(pk__in=ids).values_list("pk", flat=True)):
        for pk in open_ids:
            reading.run(pk)
        if FileVersion.objects.open().filter(pk__in=ids).exists():
            time.sleep(WAIT_SECONDS)


def row_of(version: FileVersion) -> dict[str, Any]:
    """Return what is listed of `version`."""
    return {
        "name": version.file.name,
        "state": version.state,
        "reason": version.reason.in_english if version.reason else "",
        "version": version.number,
        "pages": version.pages,
    }
