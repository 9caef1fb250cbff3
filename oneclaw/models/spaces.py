"""Spaces: the owners of memory, and the people who may read and write it."""

from typing import Any, ClassVar

from django.db import models, transaction
from django.db.models.functions import Now
from django.utils import timezone

from oneclaw.models.groups import Group
from oneclaw.models.people import User


class SpaceQuerySet(models.QuerySet["Space"]):
    def visible_to(self, user: User) -> "SpaceQuerySet":
        """Return the spaces in which `user` has a role, also through a group."""
        return self.filter(roles__user=user)

    def writable_by(self, user: User) -> "SpaceQuerySet":
        """Return the spaces that `user` may write in: those that `user` owns or edits, and that are not archived."""
        return self.filter(roles__user=user, roles__role__in=SpaceMember.WRITERS, archived_at=None)

    def owned_by(self, user: User) -> "SpaceQuerySet":
        """Return the spaces that `user` owns, also through a group."""
        return self.filter(roles__user=user, roles__role=SpaceMember.Role.OWNER)

    def shared(self) -> "SpaceQuerySet":
        """Return the spaces of projects and teams."""
        return self.exclude(kind__in=Space.PRIVATE)

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


def pass_on(collector: Any, field: Any, spaces: Any, using: str) -> None:
    """Give each of `spaces`, whose owner is being deleted, to another owner; delete those that have none.

    It is an `on_delete` of Django, which also asks what would be deleted: nothing is written here.
    """
    alone: Any = []
    for space in spaces:
        owners = SpaceMember.objects.using(using).filter(space=space, role=SpaceMember.Role.OWNER)
        other = owners.exclude(user=space.owner_id).select_related("user").order_by("since", "pk").first()
        if other is None or space.is_private:
            alone.append(space)
        else:
            collector.add_field_update(field, other.user, [space])
    if alone:
        models.CASCADE(collector, field, alone, using)


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
    description = models.CharField(max_length=500, blank=True, default="", db_default="")
    # The number of its colour in the page's palette; 0: none.
    colour = models.PositiveSmallIntegerField(default=0, db_default=0)
    # The only member of a private space; of a shared one, the person who made it or whom it was handed over to.
    owner = models.ForeignKey(User, on_delete=pass_on, related_name="owned_spaces", db_index=False)
    # Whether a proposal needs the yes of a second person; otherwise editors write its memory directly.
    needs_second_person = models.BooleanField(default=True, db_default=True)
    # Whether who began a shared conversation may share it by a link with people outside of the space.
    links_for_everybody = models.BooleanField(default=False, db_default=False)
    created_at = models.DateTimeField(auto_now_add=True)
    # An archived space can be read and searched, and nothing in it changes.
    archived_at = models.DateTimeField(null=True, blank=True)

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
    """A role in a space that one person was given; what a person may do is in SpaceRole."""

    class Role(models.TextChoices):
        OWNER = "owner", "owner: reads, writes, manages members"
        EDITOR = "editor", "editor: reads and writes"
        READER = "reader", "reader: reads"

    # The roles that may write.
    WRITERS: ClassVar[tuple[Role, ...]] = (Role.OWNER, Role.EDITOR)

    space = models.ForeignKey(Space, on_delete=models.CASCADE, related_name="members", db_index=False)
    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="memberships")
    role = models.CharField(max_length=10, choices=Role, default=Role.READER)
    since = models.DateTimeField(default=timezone.now, db_default=Now())

    class Meta:
        constraints = [models.UniqueConstraint(fields=["space", "user"], name="member_once_per_space")]

    def __str__(self) -> str:
        return f"{self.user} in {self.space}: {self.role}"


class SpaceInvitationQuerySet(models.QuerySet["SpaceInvitation"]):
    def visible_to(self, user: User) -> "SpaceInvitationQuerySet":
        """Return the invitations that `user` may accept: of their account, whose address they were made for.

        An account that was made later has no part in them: its address may not be proven.
        """
        return self.filter(email=user.email.lower(), created_at__gte=user.date_joined, space__archived_at=None)


class SpaceInvitation(models.Model):
    """A role in a space that waits until the person with the address accepts it.

    It is made for every address, whether or not it has an account, so that no answer tells who has one.
    """

    space = models.ForeignKey(Space, on_delete=models.CASCADE, related_name="invitations", db_index=False)
    # In lower case.
    email = models.EmailField(db_index=True)
    role = models.CharField(max_length=10, choices=SpaceMember.Role)
    invited_by = models.ForeignKey(User, on_delete=models.SET_NULL, null=True, related_name="+")
    created_at = models.DateTimeField(default=timezone.now)

    objects: ClassVar[models.Manager["SpaceInvitation"]] = SpaceInvitationQuerySet.as_manager()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["space", "email"], name="invited_once_per_space")]

    def __str__(self) -> str:
        return f"invitation {self.pk} to space {self.space_id}"


class SpaceGroup(models.Model):
    """A role in a space that all members of a group have."""

    space = models.ForeignKey(Space, on_delete=models.CASCADE, related_name="groups", db_index=False)
    group = models.ForeignKey(Group, on_delete=models.CASCADE, related_name="spaces")
    role = models.CharField(max_length=10, choices=SpaceMember.Role, default=SpaceMember.Role.READER)
    since = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["space", "group"], name="group_once_per_space")]

    def __str__(self) -> str:
        return f"{self.group} in {self.space}: {self.role}"


class SpaceRole(models.Model):
    """The highest role of a person in a space, of their own or through groups, and since when they have any.

    A database view over SpaceMember, SpaceGroup and GroupMember (migration 0009_groups): it is never stale.
    """

    pk = models.CompositePrimaryKey("space_id", "user_id")
    space = models.ForeignKey(Space, on_delete=models.DO_NOTHING, related_name="roles")
    user = models.ForeignKey(User, on_delete=models.DO_NOTHING, related_name="space_roles")
    role = models.CharField(max_length=10, choices=SpaceMember.Role)
    since = models.DateTimeField()

    class Meta:
        managed = False
        db_table = "oneclaw_spacerole"

    def __str__(self) -> str:
        return f"{self.user_id} in {self.space_id}: {self.role}"
