"""Spaces: the owners of memory, and the people who may read and write it."""

from typing import ClassVar

from django.db import models, transaction

from oneclaw.models.people import User


class SpaceQuerySet(models.QuerySet["Space"]):
    def visible_to(self, user: User) -> "SpaceQuerySet":
        """Return the spaces of which `user` is a member."""
        return self.filter(members__user=user)

    def own_of(self, user: User) -> "Space":
        """Return the own space of `user`, made on first use."""
        own = self.filter(owner=user, kind=Space.Kind.OWN).first()
        return own or make_own_space(user)


@transaction.atomic
def make_own_space(user: User) -> "Space":
    """Return the own space of `user` after making it and its membership, as far as they are missing."""
    space, _ = Space.objects.get_or_create(owner=user, kind=Space.Kind.OWN, defaults={"name": str(user)[:200]})
    SpaceMember.objects.get_or_create(space=space, user=user, defaults={"role": SpaceMember.Role.OWNER})
    return space


class Space(models.Model):
    """The owner of a memory: a person, an agent for one person, a project or a team."""

    class Kind(models.TextChoices):
        OWN = "own", "a person's own"
        PROJECT = "project", "a project's"
        TEAM = "team", "a team's"
        # The memory of an agent that has its own; there is one for each person who talks with it.
        AGENT = "agent", "an agent's for one person"

    # Kinds whose only member is the owner.
    PRIVATE: ClassVar[tuple[Kind, ...]] = (Kind.OWN, Kind.AGENT)

    kind = models.CharField(max_length=10, choices=Kind, default=Kind.OWN)
    name = models.CharField(max_length=200)
    # The person who made it; the only member of a private space.
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
        """Return whether only its owner may see it."""
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
