"""What the roles of a person in a space are, of their own and through groups."""

import pytest

from oneclaw.models import Group, GroupMember, Space, SpaceGroup, SpaceMember, SpaceRole, User

pytestmark = pytest.mark.django_db


@pytest.fixture
def team(ada: User) -> Space:
    space = Space.objects.create(kind=Space.Kind.TEAM, name="Engine room", owner=ada)
    SpaceMember.objects.create(space=space, user=ada, role=SpaceMember.Role.OWNER)
    return space


def test_the_highest_of_a_persons_roles_counts(team: Space, stranger: User) -> None:
    SpaceMember.objects.create(space=team, user=stranger, role=SpaceMember.Role.READER)
    for name, role in (("night shift", SpaceMember.Role.EDITOR), ("visitors", SpaceMember.Role.READER)):
        group = Group.objects.create(name=name)
        GroupMember.objects.create(group=group, user=stranger)
        SpaceGroup.objects.create(space=team, group=group, role=role)

    held = SpaceRole.objects.get(space=team, user=stranger)

    assert held.role == SpaceMember.Role.EDITOR
    assert held.since == SpaceMember.objects.get(space=team, user=stranger).since
    assert list(Space.objects.writable_by(stranger).shared()) == [team]
    assert not Space.objects.owned_by(stranger).shared().exists()


def test_who_leaves_a_group_loses_its_spaces_at_once(team: Space, stranger: User) -> None:
    group = Group.objects.create(name="night shift")
    membership = GroupMember.objects.create(group=group, user=stranger)
    SpaceGroup.objects.create(space=team, group=group, role=SpaceMember.Role.READER)
    assert team in Space.objects.visible_to(stranger)

    membership.delete()

    assert team not in Space.objects.visible_to(stranger)
