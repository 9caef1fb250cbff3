"""Define the proposals: lines that a member wants in the curated memory of a shared space, and that wait for another
member's yes."""

from typing import ClassVar

from django.db import models
from django.db.models import Q
from django.db.models.functions import Now
from django.utils.translation import gettext_lazy as _

from chat.models import Message
from memory.models.documents import MemoryRevision
from oneclaw.models import Space, User


class ProposalQuerySet(models.QuerySet["Proposal"]):
    def visible_to(self, user: User) -> "ProposalQuerySet":
        """Return the proposals for the spaces in which `user` has a role."""
        return self.filter(space__roles__user=user)

    def waiting(self) -> "ProposalQuerySet":
        """Return the proposals without an answer."""
        return self.filter(state=Proposal.State.WAITING)

    def to_decide_by(self, user: User) -> "ProposalQuerySet":
        """Return the waiting proposals that `user` may accept: as an owner or editor of the space and, where a second
        person is needed, of other authors."""
        mine = self.waiting().filter(space__in=Space.objects.writable_by(user).filter(archived_at=None))
        own = Q(author=user) | Q(writers__contains=[user.pk])
        return mine.exclude(Q(space__needs_second_person=True) & own)

    def to_hear_by(self, user: User) -> "ProposalQuerySet":
        """Return the declined proposals of `user` that they have not taken note of."""
        return self.visible_to(user).filter(author=user, state=Proposal.State.DECLINED, heard_at=None)


class Proposal(models.Model):
    """A text that a member proposes for MEMORY.md of a shared space. The first answer counts.

    Nothing searches it, recalls it or sends it to a model. It is deleted when words of it are forgotten in the space.
    """

    class Kind(models.TextChoices):
        """How it was made."""

        SAVED = "saved", _("from a saved line")
        LINE = "line", _("from a line of memory")
        WRITTEN = "written", _("written on the page")
        ASSISTANT = "assistant", _("by the assistant in a shared conversation")
        API = "api", _("by a program")
        # The whole text of the space's instructions (AGENTS.md), which it replaces.
        INSTRUCTIONS = "rules", _("instructions, written on the page")

    class State(models.TextChoices):
        WAITING = "waiting", _("waiting")
        ACCEPTED = "accepted", _("accepted")
        DECLINED = "declined", _("declined")
        WITHDRAWN = "withdrawn", _("withdrawn")

    space = models.ForeignKey(Space, on_delete=models.CASCADE, related_name="proposals", db_index=False)
    # None once the account is deleted.
    author = models.ForeignKey(User, on_delete=models.SET_NULL, null=True, blank=True, related_name="+")
    kind = models.CharField(max_length=10, choices=Kind)
    # The ids of members whose words, files or lines it may hold besides: where a second person is needed, none of them
    # may accept it.
    writers = models.JSONField(null=True, blank=True)
    # Of kind API: the name of the program.
    program = models.CharField(max_length=200, blank=True, default="", db_default="")
    text = models.TextField()
    # Of instructions: the version of the space's that their author saw; 0: there were none.
    base_version = models.PositiveIntegerField(null=True, blank=True)
    # The keyed hash of its words in the space (memory/policy/tombstones.py).
    text_hash = models.CharField(max_length=64)
    # The change of the author's own memory, and the answer of the shared conversation, that it comes from.
    source = models.ForeignKey(MemoryRevision, on_delete=models.SET_NULL, null=True, blank=True, related_name="+")
    message = models.ForeignKey(Message, on_delete=models.SET_NULL, null=True, blank=True, related_name="+")
    state = models.CharField(max_length=10, choices=State, default=State.WAITING)
    # Who accepted or declined it, and the change that an accepted one made, if the document did not have it already.
    decided_by = models.ForeignKey(User, on_delete=models.SET_NULL, null=True, blank=True, related_name="+")
    decided_at = models.DateTimeField(null=True, blank=True)
    # As it was accepted; "" until then.
    accepted_text = models.TextField(blank=True)
    outcome = models.ForeignKey(MemoryRevision, on_delete=models.SET_NULL, null=True, blank=True, related_name="+")
    # When its author took note that it was declined.
    heard_at = models.DateTimeField(null=True, blank=True)
    # By the database's clock (oneclaw/models/clock.py).
    created_at = models.DateTimeField(db_default=Now())

    objects: ClassVar[models.Manager["Proposal"]] = ProposalQuerySet.as_manager()

    class Meta:
        indexes = [models.Index(fields=["space"], condition=Q(state="waiting"), name="proposals_waiting")]
        constraints = [
            models.UniqueConstraint(fields=["space", "text_hash"], condition=Q(state="waiting"), name="proposed_once"),
            models.CheckConstraint(
                condition=Q(state="waiting", decided_at=None, accepted_text="", outcome=None)
                | Q(state="accepted", decided_at__isnull=False) & ~Q(accepted_text="")
                | Q(state__in=["declined", "withdrawn"], decided_at__isnull=False, accepted_text="", outcome=None),
                name="proposal_is_what_its_state_says",
            ),
        ]

    def __str__(self) -> str:
        # Without its text, which is private: the admin shows this text.
        return f"proposal {self.pk}: {self.state}"

    @property
    def is_waiting(self) -> bool:
        """Return whether it still waits for an answer."""
        return self.state == self.State.WAITING
