"""People and their keys, whose a thing is, and whether all is well: heartbeats, looks at the invariants."""

import datetime as dt
import zoneinfo
from typing import Any, ClassVar

from django.contrib.auth.base_user import BaseUserManager
from django.contrib.auth.models import AbstractUser
from django.core.exceptions import ValidationError
from django.db import models, transaction
from django.db.models.functions import Lower
from django.utils import timezone
from django.utils.translation import gettext_lazy as _


class UserManager(BaseUserManager["User"]):
    use_in_migrations = True

    def get_by_natural_key(self, username: str | None) -> "User":
        return self.get(email__iexact=username)

    def create_user(self, email: str, password: str | None = None, **fields: Any) -> "User":
        """A person with a lower-case email; without a password nobody can sign in until one is set."""
        if not email:
            raise ValueError("A person needs an email address.")
        user = self.model(email=email.strip().lower(), **fields)
        user.set_password(password)
        user.save(using=self._db)
        return user

    def create_superuser(self, email: str, password: str | None = None, **fields: Any) -> "User":
        return self.create_user(email, password, is_staff=True, is_superuser=True, **fields)


def validate_timezone(name: str) -> None:
    """An IANA name such as Europe/Zurich."""
    if name not in zoneinfo.available_timezones():
        raise ValidationError("“%(name)s” is not a timezone. Write it like Europe/Zurich.", params={"name": name})


class User(AbstractUser):
    """A person. Signs in by email; has a day of their own."""

    class Appearance(models.TextChoices):
        LIGHT = "light", _("Light")
        DARK = "dark", _("Dark")

    username = None  # type: ignore[assignment]
    email = models.EmailField("email address", unique=True)
    # Taken from the browser at sign-in and changeable; decides on which day something happened.
    timezone = models.CharField(max_length=64, default="UTC", validators=[validate_timezone])

    # Whether the person set it themselves; the browser's word is no longer taken then.
    timezone_chosen = models.BooleanField(default=False)

    # The language of the pages; empty: the browser's.
    language = models.CharField(max_length=10, blank=True)
    # How the pages look; empty: as the device does.
    appearance = models.CharField(max_length=5, blank=True, choices=Appearance)

    USERNAME_FIELD = "email"
    REQUIRED_FIELDS: ClassVar[list[str]] = []
    objects: ClassVar[UserManager] = UserManager()  # type: ignore[assignment]

    class Meta:
        constraints = [models.UniqueConstraint(Lower("email"), name="user_email_once")]

    def __str__(self) -> str:
        return self.get_full_name() or self.email

    @property
    def zone(self) -> zoneinfo.ZoneInfo:
        """The person's timezone; UTC if the stored name has left the timezone database."""
        try:
            return zoneinfo.ZoneInfo(self.timezone)
        except (zoneinfo.ZoneInfoNotFoundError, ValueError):
            return zoneinfo.ZoneInfo("UTC")

    def local(self, moment: dt.datetime | None = None) -> dt.datetime:
        """`moment` (aware; now when not given) on the person's own clock."""
        return (moment or timezone.now()).astimezone(self.zone)

    def day(self, moment: dt.datetime | None = None) -> dt.date:
        """Which day it is, or was at `moment`, for this person. The only answer to that question."""
        return self.local(moment).date()


class SpaceQuerySet(models.QuerySet["Space"]):
    def visible_to(self, user: User) -> "SpaceQuerySet":
        return self.filter(members__user=user)

    def own_of(self, user: User) -> "Space":
        """The person's own space, made on first use."""
        own = self.filter(owner=user, kind=Space.Kind.OWN).first()
        return own or make_own_space(user)


@transaction.atomic
def make_own_space(user: User) -> "Space":
    space, _ = Space.objects.get_or_create(owner=user, kind=Space.Kind.OWN, defaults={"name": str(user)[:200]})
    SpaceMember.objects.get_or_create(space=space, user=user, defaults={"role": SpaceMember.Role.OWNER})
    return space


class Space(models.Model):
    """Whose a memory is: a person's own, a project's, or a team's."""

    class Kind(models.TextChoices):
        OWN = "own", "a person's own"
        PROJECT = "project", "a project's"
        TEAM = "team", "a team's"
        # The memory of an agent that has its own, apart for each person who talks with it.
        AGENT = "agent", "an agent's for one person"

    # Kinds of which nobody but the owner is ever a member.
    PRIVATE: ClassVar[tuple[Kind, ...]] = (Kind.OWN, Kind.AGENT)

    kind = models.CharField(max_length=10, choices=Kind, default=Kind.OWN)
    name = models.CharField(max_length=200)
    # The person who made it; of an own space, its only member.
    owner = models.ForeignKey(User, on_delete=models.CASCADE, related_name="owned_spaces", db_index=False)
    created_at = models.DateTimeField(auto_now_add=True)

    objects: ClassVar[models.Manager["Space"]] = SpaceQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["owner"], condition=models.Q(kind="own"), name="one_own_space_per_person"),
            # What composite foreign keys of other tables point at.
            models.UniqueConstraint(fields=["owner", "id"], name="space_of_owner"),
        ]

    def __str__(self) -> str:
        return f"{self.name} ({self.get_kind_display()})"

    @property
    def is_private(self) -> bool:
        """Whether only its owner may ever see it."""
        return self.kind in self.PRIVATE


class SpaceMember(models.Model):
    """A person's role in a space."""

    class Role(models.TextChoices):
        OWNER = "owner", "owner: reads, writes, manages members"
        EDITOR = "editor", "editor: reads and writes"
        READER = "reader", "reader: reads"

    space = models.ForeignKey(Space, on_delete=models.CASCADE, related_name="members", db_index=False)
    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="memberships")
    role = models.CharField(max_length=10, choices=Role, default=Role.READER)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["space", "user"], name="member_once_per_space")]

    def __str__(self) -> str:
        return f"{self.user} in {self.space}: {self.role}"


class ApiKeyQuerySet(models.QuerySet["ApiKey"]):
    def visible_to(self, user: User) -> "ApiKeyQuerySet":
        return self.filter(user=user)

    def live(self, now: dt.datetime | None = None) -> "ApiKeyQuerySet":
        """Ones that open something: not expired, of somebody whose account is open."""
        unexpired = models.Q(expires_at=None) | models.Q(expires_at__gt=now or timezone.now())
        return self.filter(unexpired, user__is_active=True)


class ApiKey(models.Model):
    """What a program shows to speak for a person. Revoking it deletes the row."""

    LONGEST_NAME: ClassVar[int] = 60

    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="api_keys")
    # What its owner calls it.
    name = models.CharField(max_length=60)
    # SHA-256 of the token, which nobody can find out from here.
    token_hash = models.CharField(max_length=64, unique=True)
    # The last characters of the token, to know it again.
    ending = models.CharField(max_length=8)
    created_at = models.DateTimeField(default=timezone.now)
    # To the minute; None: never.
    last_used_at = models.DateTimeField(null=True, blank=True)
    # None: never.
    expires_at = models.DateTimeField(null=True, blank=True)

    objects: ClassVar[models.Manager["ApiKey"]] = ApiKeyQuerySet.as_manager()

    class Meta:
        verbose_name = "API key"
        ordering = ["-created_at", "-pk"]

    def __str__(self) -> str:
        # Without its name, which is the person's own: the admin shows this.
        return f"key …{self.ending}"

    @property
    def is_expired(self) -> bool:
        return self.expires_at is not None and self.expires_at <= timezone.now()


class Heartbeat(models.Model):
    """When some part of a running OneClaw last showed life."""

    name = models.CharField(max_length=40, primary_key=True)
    at = models.DateTimeField()

    def __str__(self) -> str:
        return f"{self.name} at {self.at:%Y-%m-%d %H:%M:%S}"


class InvariantRun(models.Model):
    """What one look at everything that must hold has found (oneclaw/invariants.py)."""

    at = models.DateTimeField(default=timezone.now)
    seconds = models.FloatField()
    # How many invariants were checked, and how many violations there were.
    checked = models.PositiveIntegerField()
    count = models.PositiveIntegerField()
    # The first of them: [{"invariant": name, "text": sentence}]
    violations = models.JSONField(default=list)

    class Meta:
        ordering = ["-at"]

    def __str__(self) -> str:
        return f"{self.at:%Y-%m-%d %H:%M}: {self.count} violations"
