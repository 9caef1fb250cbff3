"""`manage.py adduser EMAIL [--role ROLE]`: create a person and print the one-time link of their first sign-in."""

from django.core.exceptions import ValidationError
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import transaction

from oneclaw.audit.record import record
from oneclaw.models import AuditKind, User
from oneclaw.people.addresses import check_email
from oneclaw.people.invitations import invitation_link
from oneclaw.people.roles import set_role


class Command(BaseCommand):
    help = "Creates a person and prints a one-time link with which they choose a password."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("email")
        choices = [role for role in User.Role.values if role]
        parser.add_argument("--role", choices=choices, default="", help="what they may do for the team; owner: all")
        parser.add_argument("--staff", action="store_true", help="the same as --role owner")
        parser.add_argument("--new-link", action="store_true", help="for a person who has an account: a new link")

    @transaction.atomic
    def handle(self, *, email: str, role: str, staff: bool, new_link: bool, **options: object) -> None:
        email = email.strip().lower()
        if staff:
            if role not in ("", User.Role.OWNER):
                raise CommandError("--staff is the same as --role owner; give one of the two.")
            role = User.Role.OWNER
            self.stderr.write("--staff makes an owner, who may do everything. --role has smaller roles.")
        try:
            check_email(email)
        except ValidationError:
            raise CommandError(f"“{email}” is not an email address.") from None
        user = User.objects.filter(email__iexact=email).first()
        if user is None:
            if new_link:
                raise CommandError(f"There is no account with the email {email}.")
            user = User(email=email)
            set_role(user, role)
            user.set_unusable_password()
            user.save()
            record(AuditKind.PERSON_MADE, person=user, role=role, command="adduser")
        elif not new_link:
            raise CommandError(f"{email} has an account already; --new-link gives them a new link.")
        elif role:
            raise CommandError("--new-link changes no role; owners do that on the page People.")
        else:
            # Of an account that waits for an owner, the shell of the server decides.
            user.is_active, user.awaits_owner = user.is_active or user.awaits_owner, False
            user.link_shown_to = None
            user.set_unusable_password()
            user.save(update_fields=["password", "link_shown_to", "is_active", "awaits_owner"])
            record(AuditKind.RESET_LINK_MADE, person=user, command="adduser --new-link")
        self.stdout.write(invitation_link(user))
