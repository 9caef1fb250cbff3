"""Attempts to sign in with a password, as far as they have failed."""

from django.db import models
from django.utils import timezone


class SignInAttempt(models.Model):
    """An attempt that is being checked or has failed; a success deletes it. All processes count the same rows."""

    # SHA-256 of the email address in lower case: people also type their password here.
    account = models.CharField(max_length=64)
    # The address of the network; of IPv6 its first 64 bits, which one subscriber has.
    address = models.CharField(max_length=45)
    at = models.DateTimeField(default=timezone.now)

    class Meta:
        indexes = [
            models.Index(fields=["account", "at"], name="attempt_of_account"),
            models.Index(fields=["address", "at"], name="attempt_of_address"),
        ]

    def __str__(self) -> str:
        return f"{self.address} at {self.at}"
