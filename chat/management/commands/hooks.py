"""`manage.py hooks`: list the hooks of all extensions, point by point, in the order in which they are asked."""

import json
from typing import Any, TypedDict

from django.core.management.base import BaseCommand, CommandParser

from chat import extensions
from chat.extensions.hooks import POINTS
from chat.extensions.run_hooks import switched_off_rows
from chat.models import SwitchedOffHook


class SwitchedOffEntry(TypedDict):
    """A process that does not ask a hook any more."""

    host: str
    pid: int
    since: str
    why: str


class HookEntry(TypedDict):
    """One hook. `switched_off` is empty while every process asks it."""

    name: str
    extension: str
    order: int
    changes: list[str]
    must: bool
    switched_off: list[SwitchedOffEntry]


class PointEntry(TypedDict):
    """One point with its hooks in order."""

    point: str
    seconds: float
    on_failure: str
    hooks: list[HookEntry]


class Command(BaseCommand):
    help = (
        "List the hooks of all extensions, in the order in which they are asked, and which a process has switched off."
    )
    # --json gives one JSON document on standard output and nothing else.
    requires_system_checks = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--json", action="store_true", help="one JSON document on standard output")

    def handle(self, *args: Any, **options: Any) -> None:
        points = listed_points(switched_off_rows())
        if options["json"]:
            self.stdout.write(json.dumps({"points": points}, ensure_ascii=False))
            return
        for point in points:
            self.stdout.write(f"{point['point']}: {point['seconds']:g} s; a failing handler: {point['on_failure']}")
            for hook in point["hooks"]:
                self.stdout.write(f"  {line_of(hook)}")
            if not point["hooks"]:
                self.stdout.write("  (none)")


def listed_points(rows: list[SwitchedOffHook]) -> list[PointEntry]:
    """Return every point with its hooks; `rows` are what processes have switched off."""
    owners = {(hook.point, hook.name): each.name for each in extensions.installed() for hook in each.hooks}
    off: dict[tuple[str, str], list[SwitchedOffEntry]] = {}
    for row in rows:
        entry: SwitchedOffEntry = {"host": row.host, "pid": row.pid, "since": row.at.isoformat(), "why": row.why}
        off.setdefault((row.point, row.name), []).append(entry)
    return [
        {
            "point": point,
            "seconds": kind.SECONDS,
            "on_failure": kind.ON_FAILURE,
            "hooks": [
                {
                    "name": hook.name,
                    "extension": owners[point, hook.name],
                    "order": hook.order,
                    "changes": sorted(hook.changes),
                    "must": hook.must,
                    "switched_off": off.get((point, hook.name[:200]), []),
                }
                for hook in extensions.hooks_at(kind)
            ],
        }
        for point, kind in POINTS.items()
    ]


def line_of(hook: HookEntry) -> str:
    """Return the line of one hook for a person to read."""
    parts = [f"{hook['order']:>4}  {hook['name']} of {hook['extension']}"]
    parts.append(f"changes {', '.join(hook['changes']) or 'nothing'}")
    if hook["must"]:
        parts.append("must")
    off = [
        f"process {each['pid']} on {each['host']} since {each['since']}: {each['why']}" for each in hook["switched_off"]
    ]
    parts.append(f"SWITCHED OFF in {' and '.join(off)}" if off else "on")
    return "; ".join(parts)
