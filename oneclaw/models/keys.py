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
    """What a program may do for a person: with a key, or with a sign-in of its own (OAuth), which has a `client`.
    Revoking it deletes the row.

    What `access` says is read by oneclaw/people/programs/grants.py.
    """

    NAME_MAX_CHARS: ClassVar[int] = 60

    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="api_keys")
    # What its owner calls it.
    name = models.CharField(max_length=60)
    # SHA-256 of the token, which is not stored; None of a sign-in, whose tokens are those of allauth.
    token_hash = models.CharField(max_length=64, unique=True, null=True, blank=True)
    # The last characters of the token, by which its owner recognises it; "" of a sign-in.
    ending = models.CharField(max_length=8, blank=True)
    # The id of the OAuth client that has signed in; "" of a key.
    client = models.CharField(max_length=100, blank=True, default="", db_default="")
    # What of memory it may read and write; None: everything that its person may, also conversations and settings.
    access = models.JSONField(null=True, blank=True)
    # What the program called itself, and the address it came from, when it was used last; "" and None: unknown.
    program = models.CharField(max_length=100, blank=True, default="", db_default="")
    address = models.GenericIPAddressField(null=True, blank=True)
    # When it was last sent a briefing, and the list of what was forgotten.
    briefed_at = models.DateTimeField(null=True, blank=True)
    heard_forgotten_at = models.DateTimeField(null=True, blank=True)
    created_at = models.DateTimeField(default=timezone.now)
    # To the minute; None: never.
    last_used_at = models.DateTimeField(null=True, blank=True)
    # None: never.
    expires_at = models.DateTimeField(null=True, blank=True)

    objects: ClassVar[models.Manager["ApiKey"]] = ApiKeyQuerySet.as_manager()

    class Meta:
        verbose_name = "API key"
        ordering = ["-created_at", "-pk"]
        constraints = [
            models.UniqueConstraint(
                fields=["user", "client"], condition=~models.Q(client=""), name="one_grant_for_each_client"
            ),
        ]

    def __str__(self) -> str:
        # Without its name, which is the person's own: the admin shows this.
        return f"key …{self.ending}" if self.token_hash else f"sign-in of a program {self.pk}"

    @property
    def is_expired(self) -> bool:
        """Return whether the key is past its expiry."""
        return self.expires_at is not None and self.expires_at <= timezone.now()


class SpentRefreshToken(models.Model):
    """A refresh token of a program that was exchanged for another one. Sent again, it ends the sign-in of `key`."""

    key = models.ForeignKey(ApiKey, on_delete=models.CASCADE, related_name="+")
    # As allauth stores the hash of a token.
    hash = models.CharField(max_length=64, unique=True)
    spent_at = models.DateTimeField(default=timezone.now)

    def __str__(self) -> str:
        return f"a used token of {self.key_id}"
