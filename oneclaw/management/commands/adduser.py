"""`manage.py adduser EMAIL [--staff]`: create a person and print the one-time link of their first sign-in."""

from django.core.exceptions import ValidationError
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.core.validators import validate_email

from oneclaw.models import User
from oneclaw.people.invitations import invitation_link


class Command(BaseCommand):
    help = "Creates a person and prints a one-time link with which they choose a password."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("email")
        parser.add_argument("--staff", action="store_true", help="may use /admin/, with every permission")
        parser.add_argument("--new-link", action="store_true", help="for a person who has an account: a new link")

    def handle(self, *, email: str, staff: bool, new_link: bool, **options: object) -> None:
        email = email.strip().lower()
        try:
            validate_email(email)
        except ValidationError:
            raise CommandError(f"“{email}” is not an email address.") from None
        user = User.objects.filter(email__iexact=email).first()
        if user is None:
            if new_link:
                raise CommandError(f"There is no account with the email {email}.")
            user = User.objects.create_superuser(email) if staff else User.objects.create_user(email)
        elif not new_link:
            raise CommandError(f"{email} has an account already; --new-link gives them a new link.")
        else:
            user.set_unusable_password()
            user.save(update_fields=["password"])
        self.stdout.write(invitation_link(user))
