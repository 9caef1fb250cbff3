"""The rows of the audit log: events, their place in the chain of hashes, and how far the collector has them."""

import hashlib
import json
from typing import Any, ClassVar

from django.db import models
from django.db.models.functions import Now
from django.utils.translation import gettext_lazy as _

from oneclaw.reasons import ReasonField


class AuditKind(models.TextChoices):
    """What an event says."""

    SIGNED_IN = "sign_in", _("Signed in")
    CONFIRMED = "sign_in.confirmed", _("Sign-in confirmed")
    SIGN_IN_FAILED = "sign_in.failed", _("Sign-in failed")
    SIGNED_OUT = "sign_out", _("Signed out")
    PASSWORD_CHANGED = "password.changed", _("Password changed")
    RESET_LINK_MADE = "password.link", _("Link for a new password made")
    RESET_LINK_USED = "password.link_used", _("Link for a new password used")
    SECOND_FACTOR_ADDED = "mfa.added", _("Second factor added")
    SECOND_FACTOR_REMOVED = "mfa.removed", _("Second factor removed")
    INVITED = "invitation.made", _("Invitation made")
    INVITATION_REVOKED = "invitation.revoked", _("Invitation revoked")
    INVITATION_USED = "invitation.used", _("Invitation used")
    PERSON_MADE = "person.made", _("Account made")
    PERSON_DISABLED = "person.disabled", _("Account disabled")
    PERSON_ENABLED = "person.enabled", _("Account enabled")
    PERSON_LEAVES = "person.leaves", _("Removal of an account begun")
    PERSON_REMOVED = "person.removed", _("Account removed")
    HOLD_SET = "hold.set", _("Legal hold set")
    HOLD_ENDED = "hold.ended", _("Legal hold ended")
    RIGHTS_CHANGED = "rights.changed", _("Rights changed")
    GROUP_CHANGED = "group.changed", _("Group changed")
    SPACE_MADE = "space.made", _("Space made")
    SPACE_CHANGED = "space.changed", _("Space changed")
    SPACE_REMOVED = "space.removed", _("Space deleted")
    MEMBERS_CHANGED = "space.members", _("Members of a space changed")
    EXPORTED = "export", _("Data exported")
    RESTORED = "restore", _("Backup restored")
    SHARED = "share.made", _("Link shared")
    SHARE_ENDED = "share.ended", _("Shared link ended")
    KEY_MADE = "key.made", _("API key made")
    KEY_REVOKED = "key.revoked", _("API key revoked")
    KEY_CHANGED = "key.changed", _("Rights of a program changed")
    PROGRAM_CALLED = "program.called", _("Memory asked by a program")
    SETTING_CHANGED = "setting.changed", _("Setting changed")
    DELETED = "deleted", _("Deleted")
    FORGOTTEN = "forgotten", _("Forgotten in memory")
    MEMORY_LOOKED_AT = "memory.opened", _("Memory of another person opened")
    MEMORY_CURATED = "memory.changed", _("Memory of another person changed")
    ROW_CHANGED = "row.changed", _("Row changed in the administration")


class AuditEvent(models.Model):
    """One act. A trigger refuses every change and deletion.

    People, spaces and other rows are named by their number alone, without a foreign key: an event outlives them, and
    holds nothing that a removed person has left.
    """

    id = models.BigAutoField(primary_key=True)
    at = models.DateTimeField(db_default=Now(), editable=False)
    # An AuditKind; a kind that a newer release has is kept as it is.
    kind = models.CharField(max_length=30)
    # The id of the person who did it; None: nobody who is known, or the server.
    actor = models.BigIntegerField(null=True, blank=True)
    # The id of the person whom it concerns, if that is another one than the actor.
    person = models.BigIntegerField(null=True, blank=True)
    space = models.BigIntegerField(null=True, blank=True)
    # The address of the request; None: a command or a task.
    address = models.GenericIPAddressField(null=True, blank=True)
    # Names, codes and numbers, and nothing that a person wrote.
    details = models.JSONField(default=dict, blank=True)

    class Meta:
        indexes = [
            models.Index(fields=["-at", "-id"], name="audit_recent"),
            models.Index(fields=["actor", "-id"], name="audit_of_actor"),
            models.Index(fields=["person", "-id"], name="audit_of_person"),
        ]

    def __str__(self) -> str:
        return f"event {self.pk}: {self.kind}"

    @property
    def label(self) -> str:
        """Return what the event says, in the active language."""
        return str(AuditKind(self.kind).label) if self.kind in AuditKind.values else self.kind

    @property
    def as_json(self) -> dict[str, Any]:
        """Return the event as an export, the collector and the chain have it."""
        return {
            "id": self.pk,
            "at": self.at.isoformat(timespec="microseconds"),
            "kind": self.kind,
            "actor": self.actor,
            "person": self.person,
            "space": self.space,
            "address": self.address,
            "details": self.details,
        }

    def chained(self, before: bytes) -> bytes:
        """Return the 32 bytes of the event's link: SHA-256 of the link `before` it and of its JSON."""
        text = json.dumps(self.as_json, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
        return hashlib.sha256(before + text.encode()).digest()


class AuditLink(models.Model):
    """The place of an event in the chain (oneclaw/audit/chain.py). A trigger makes the row with the event."""

    event = models.OneToOneField(
        AuditEvent, on_delete=models.DO_NOTHING, primary_key=True, related_name="link", db_constraint=False
    )
    # 1, 2, 3 … in the order of linking; None: not yet linked.
    position = models.BigIntegerField(null=True, unique=True)
    hash = models.BinaryField(max_length=32, null=True)

    class Meta:
        indexes = [
            models.Index(fields=["event"], condition=models.Q(position=None), name="audit_to_link"),
        ]

    def __str__(self) -> str:
        return f"link {self.position} of event {self.event_id}"


class AuditDelivery(models.Model):
    """How far the collector has the audit log: one row."""

    ONLY: ClassVar[int] = 1

    id = models.PositiveSmallIntegerField(primary_key=True, default=ONLY)
    # The position of the newest event that the collector has confirmed.
    position = models.BigIntegerField(default=0)
    # Not to be tried before this moment; failures in a row, and why the last one failed.
    due_at = models.DateTimeField(db_default=Now())
    failures = models.PositiveIntegerField(default=0)
    error = ReasonField()

    def __str__(self) -> str:
        return f"the collector has {self.position} events"
