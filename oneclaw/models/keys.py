"""The API keys of people."""

import datetime as dt
from typing import ClassVar

from django.db import models
from django.utils import timezone

from oneclaw.models import clock
from oneclaw.models.people import User


class ApiKeyQuerySet(models.QuerySet["ApiKey"]):
    def visible_to(self, user: User) -> "ApiKeyQuerySet":
        """Return the keys of `user`."""
        return self.filter(user=user)

    def live(self, now: dt.datetime | None = None) -> "ApiKeyQuerySet":
        """Return the keys that are valid at `now`: not expired, and of a person whose account is active."""
        unexpired = models.Q(expires_at=None) | models.Q(expires_at__gt=now or clock.database_now())
        return self.filter(unexpired, user__is_active=True)


class ApiKey(models.Model):
    """A key with which a program acts for a person. Revoking it deletes the row."""

    NAME_MAX_CHARS: ClassVar[int] = 60

    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="api_keys")
    # What its owner calls it.
    name = models.CharField(max_length=60)
    # SHA-256 of the token, which is not stored.
    token_hash = models.CharField(max_length=64, unique=True)
    # The last characters of the token, by which its owner recognises it.
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
        """Return whether the key is past its expiry."""
        return self.expires_at is not None and self.expires_at <= timezone.now()
