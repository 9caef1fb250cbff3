"""Provide shared spaces in the shell: `space create|add|remove|list|archive|delete`."""

import json
from collections.abc import Iterator
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from oneclaw.management.arguments import person, space_named
from oneclaw.models import Space, SpaceMember
from oneclaw.spaces import deletion, lifecycle, members
from oneclaw.text import UserFacingError


class Command(BaseCommand):
    help = "Makes spaces that several people share, and says who is in them."
    # With --json standard output is one JSON document and nothing else.
    requires_system_checks = []

    def add_arguments(self, parser: CommandParser) -> None:
        actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")

        create = actions.add_parser("create", help="make a space")
        create.add_argument("name")
        create.add_argument("--owner", required=True, metavar="EMAIL")
        create.add_argument("--kind", choices=lifecycle.SHARED_KINDS, default=Space.Kind.PROJECT)
        create.add_argument("--description", default="")
        create.set_defaults(do=self.create)

        add = actions.add_parser("add", help="give a person a role in a space, or another role")
        add.add_argument("space", help="its name or its number")
        add.add_argument("email")
        add.add_argument("--role", choices=SpaceMember.Role.values, default=SpaceMember.Role.READER)
        add.set_defaults(do=self.add)

        remove = actions.add_parser("remove", help="take the role of a person away")
        remove.add_argument("space", help="its name or its number")
        remove.add_argument("email")
        remove.set_defaults(do=self.remove)

        listing = actions.add_parser("list", help="list the spaces with their members")
        listing.add_argument("--user", metavar="EMAIL", help="only those that this person can see")
        listing.set_defaults(do=self.list_spaces)

        archive = actions.add_parser("archive", help="let nothing in a space change any more")
        archive.add_argument("space", help="its name or its number")
        archive.add_argument("--undo", action="store_true", help="bring it back")
        archive.set_defaults(do=self.archive)

        delete = actions.add_parser("delete", help="delete a space with what is in it")
        delete.add_argument("space", help="its name or its number")
        delete.add_argument("--dry-run", action="store_true", help="only say what would go")
        delete.set_defaults(do=self.delete)

        for action in (create, add, remove, listing, archive, delete):
            action.add_argument("--json", action="store_true", help="one JSON document on standard output")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            options["do"](**options)
        except UserFacingError as error:
            raise CommandError(error.sentence) from error

    def create(self, *, name: str, owner: str, kind: str, description: str, json: bool, **_: Any) -> None:
        draft = lifecycle.checked_draft(name, description, kind=kind)
        self.write_result([as_result(lifecycle.create(person(owner), draft))], json)

    def add(self, *, space: str, email: str, role: str, json: bool, **_: Any) -> None:
        found = space_named(space)
        held = found.members.filter(user__email__iexact=email.strip()).first()
        if held is None:
            members.add_by_email(found, email, role)
        else:
            members.change_role(held, role)
        self.write_result([as_result(found)], json)

    def remove(self, *, space: str, email: str, json: bool, **_: Any) -> None:
        found = space_named(space)
        held = found.members.filter(user=person(email)).first()
        if held is None:
            raise CommandError(f"{email} has no role of their own in {found.name}.")
        members.remove(held)
        self.write_result([as_result(found)], json)

    def list_spaces(self, *, user: str | None, json: bool, **_: Any) -> None:
        found = Space.objects.shared().order_by("name", "pk")
        if user is not None:
            found = found.visible_to(person(user))
        self.write_result([as_result(space) for space in found], json)

    def archive(self, *, space: str, undo: bool, json: bool, **_: Any) -> None:
        found = space_named(space)
        lifecycle.unarchive(found) if undo else lifecycle.archive(found)
        found.refresh_from_db()
        self.write_result([as_result(found)], json)

    def delete(self, *, space: str, dry_run: bool, json: bool, **_: Any) -> None:
        found = space_named(space)
        result = as_result(found)
        plan = deletion.plan(found) if dry_run else deletion.delete(found)
        if json:
            self.stdout.write(as_json({"dry_run": dry_run, "space": result, "counts": plan.counts}))
            return
        said = "This would go:" if dry_run else "Deleted:"
        self.stdout.write("\n".join([said, result["name"], *(f"    {reason.in_english}" for reason in plan.reasons)]))

    def write_result(self, rows: list[dict[str, Any]], json: bool) -> None:
        """Write the rows as JSON, or as lines."""
        self.stdout.write(as_json(rows) if json else "\n".join(lines(rows)))


def as_result(space: Space) -> dict[str, Any]:
    held = space.members.select_related("user").order_by("pk")
    groups = space.groups.select_related("group").order_by("pk")
    return {
        "id": space.pk,
        "name": space.name,
        "kind": space.kind,
        "archived": space.archived_at is not None,
        "members": [{"email": each.user.email, "role": each.role} for each in held],
        "groups": [{"name": each.group.name, "role": each.role} for each in groups],
    }


def lines(rows: list[dict[str, Any]]) -> Iterator[str]:
    for row in rows:
        yield f"{row['id']}: {row['name']} ({row['kind']})" + (", archived" if row["archived"] else "")
        yield from (f"    {each['email']}: {each['role']}" for each in row["members"])
        yield from (f"    group {each['name']}: {each['role']}" for each in row["groups"])
    if not rows:
        yield "There are no spaces."


def as_json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
