"""Invitations of people who have no account yet."""

from typing import ClassVar

from django.db import models
from django.utils import timezone

from oneclaw.models import clock
from oneclaw.models.groups import Group
from oneclaw.models.people import User


class InvitationQuerySet(models.QuerySet["Invitation"]):
    def pending(self) -> "InvitationQuerySet":
        """Return the invitations that may still be accepted."""
        return self.filter(accepted_at=None, revoked_at=None, expires_at__gt=clock.database_now())


class Invitation(models.Model):
    """An invitation, accepted once through its link or by a sign-in with its verified address."""

    # Empty: the person who opens the link enters the address.
    email = models.EmailField(blank=True)
    # What they get with the account.
    role = models.CharField(max_length=10, blank=True, choices=User.Role)
    groups = models.ManyToManyField(Group, blank=True, related_name="+")
    # SHA-256 of the token of the link, which only the link has.
    token_hash = models.CharField(max_length=64, unique=True)
    invited_by = models.ForeignKey(User, on_delete=models.SET_NULL, null=True, related_name="+")
    created_at = models.DateTimeField(default=timezone.now)
    expires_at = models.DateTimeField()
    # When the link was mailed; None: whoever made it passes it on.
    mailed_at = models.DateTimeField(null=True, blank=True)
    revoked_at = models.DateTimeField(null=True, blank=True)
    accepted_at = models.DateTimeField(null=True, blank=True)
    accepted_by = models.ForeignKey(User, on_delete=models.SET_NULL, null=True, related_name="+")

    objects: ClassVar[models.Manager["Invitation"]] = InvitationQuerySet.as_manager()

    class Meta:
        ordering = ["-created_at", "-pk"]
        constraints = [
            models.UniqueConstraint(
                models.functions.Lower("email"),
                condition=models.Q(accepted_at=None, revoked_at=None) & ~models.Q(email=""),
                name="one_open_invitation_of_an_email",
            )
        ]

    def __str__(self) -> str:
        return self.email or f"invitation {self.pk}"

    @property
    def is_expired(self) -> bool:
        """Return whether the invitation is past its expiry."""
        return self.expires_at <= timezone.now()
