"""People: their accounts, languages and timezones."""

import datetime as dt
import zoneinfo
from typing import Any, ClassVar

from django.contrib.auth.base_user import BaseUserManager
from django.contrib.auth.models import AbstractUser
from django.core.exceptions import ValidationError
from django.db import models
from django.db.models.functions import Lower
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from oneclaw import zones


class UserManager(BaseUserManager["User"]):
    use_in_migrations = True

    def get_by_natural_key(self, username: str | None) -> "User":
        return self.get(email__iexact=username)

    def create_user(self, email: str, password: str | None = None, **fields: Any) -> "User":
        """Create a person with `email` in lower case, who cannot sign in without a password.

        Raise ValueError when `email` is empty.
        """
        if not email:
            raise ValueError("A person needs an email address.")
        user = self.model(email=email.strip().lower(), **fields)
        user.set_password(password)
        user.save(using=self._db)
        return user

    def create_superuser(self, email: str, password: str | None = None, **fields: Any) -> "User":
        """Create an owner: a person with every permission."""
        return self.create_user(email, password, role=User.Role.OWNER, is_staff=True, is_superuser=True, **fields)

    def owners(self) -> "models.QuerySet[User]":
        """Return the people with every permission whose accounts are active."""
        return self.filter(is_superuser=True, is_active=True)


def validate_timezone(name: str) -> None:
    """Raise ValidationError unless `name` is an IANA name such as Europe/Zurich."""
    if not zones.is_known(name):
        raise ValidationError("“%(name)s” is not a timezone. Write it like Europe/Zurich.", params={"name": name})


class User(AbstractUser):
    """A person, who signs in by email and whose days begin in their own timezone."""

    class Appearance(models.TextChoices):
        LIGHT = "light", _("Light")
        DARK = "dark", _("Dark")

    class Role(models.TextChoices):
        """What a person may do for the team besides using OneClaw; `people/roles.py` has the permissions of each."""

        MEMBER = "", _("Member")
        OWNER = "owner", _("Owner")
        PEOPLE = "people", _("People admin")
        CURATOR = "curator", _("Memory curator")
        AUDITOR = "auditor", _("Auditor")
        BILLING = "billing", _("Billing (read only)")

    username = None  # type: ignore[assignment]
    email = models.EmailField("email address", unique=True)
    # Set from the browser at the first sign-in, and changeable; decides the date of each event.
    timezone = models.CharField(max_length=64, default="UTC", validators=[validate_timezone])

    # Whether the first sign-in or the person has set the timezone; the browser's is ignored then.
    timezone_chosen = models.BooleanField(default=False)

    # The language of the pages; empty: the browser's.
    language = models.CharField(max_length=10, blank=True)
    # How the pages look; empty: as the device does.
    appearance = models.CharField(max_length=5, blank=True, choices=Appearance)

    # Decides the permissions; `is_superuser` and `is_staff` follow it (`people/roles.py`).
    role = models.CharField(max_length=10, blank=True, choices=Role, default="", db_default="")
    # Whether they have signed up and an admin has not yet let them in; such an account is not active.
    awaits_approval = models.BooleanField(default=False, db_default=False)
    # What a directory that keeps accounts by SCIM calls the person; None: it does not keep them.
    directory_id = models.CharField(max_length=255, null=True, blank=True, unique=True)
    # When they last opened a page, sent a message or used a key, to some minutes (`people/seen.py`).
    last_seen_at = models.DateTimeField(null=True, blank=True, editable=False)
    # What they are told on the next page until they have read it: reasons as JSON (`people/notices.py`).
    notices = models.JSONField(default=list, db_default=[], blank=True, editable=False)
    # The admin who was shown the one-time link that is open for them; None: nobody was shown one.
    link_shown_to = models.BigIntegerField(null=True, blank=True, editable=False)
    # Whether a password that an admin may have chosen waits for the yes of an owner. The account is not active
    # meanwhile.
    awaits_owner = models.BooleanField(default=False, db_default=False, editable=False)
    # The fingerprint of the announcement that they have dismissed (`runtime_settings`).
    dismissed_announcement = models.CharField(max_length=16, blank=True, default="", db_default="", editable=False)

    # Names of the tools that their conversations are offered although they are off unless they are chosen; None: they
    # have not chosen yet.
    tools_on = models.JSONField(null=True, blank=True, editable=False)

    USERNAME_FIELD = "email"
    REQUIRED_FIELDS: ClassVar[list[str]] = []
    objects: ClassVar[UserManager] = UserManager()  # type: ignore[assignment]

    class Meta:
        constraints = [models.UniqueConstraint(Lower("email"), name="user_email_once")]
        permissions = [
            ("manage_people", "May invite, approve, disable and enable people, and give reset links"),
            ("grant_roles", "May give and take roles"),
            ("view_audit", "May read the audit record"),
        ]

    def __str__(self) -> str:
        return self.get_full_name() or self.email

    @property
    def last_seen(self) -> dt.datetime | None:
        """Return when the person was last here, to some minutes; None: never."""
        return max(filter(None, (self.last_seen_at, self.last_login)), default=None)

    @property
    def zone(self) -> zoneinfo.ZoneInfo:
        """Return the person's timezone."""
        return zone_of(self.timezone)

    def local(self, moment: dt.datetime | None = None) -> dt.datetime:
        """Return `moment` (aware; now when not given) in the person's timezone."""
        return (moment or timezone.now()).astimezone(self.zone)

    def day(self, moment: dt.datetime | None = None) -> dt.date:
        """Return the date for this person at `moment` (aware; now when not given). No other function decides dates."""
        return self.local(moment).date()


def zone_of(name: str) -> zoneinfo.ZoneInfo:
    """Return the timezone of a stored `name`; UTC if it has left the timezone database."""
    try:
        return zoneinfo.ZoneInfo(name)
    except (zoneinfo.ZoneInfoNotFoundError, ValueError):
        return zoneinfo.ZoneInfo("UTC")
