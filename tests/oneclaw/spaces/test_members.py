"""Who is in a space, and that it always keeps an owner."""

import threading

import pytest
from django.db import IntegrityError, connection, transaction

from oneclaw.models import Group, GroupMember, Space, SpaceGroup, SpaceMember, User
from oneclaw.spaces import groups, lifecycle, members
from oneclaw.spaces.signals import roles_changed

OWNER, EDITOR, READER = SpaceMember.Role.OWNER, SpaceMember.Role.EDITOR, SpaceMember.Role.READER


@pytest.fixture
def team(ada: User) -> Space:
    return lifecycle.create(ada, lifecycle.checked_draft("Engine room", "What we know of engines", 3, "team"))


@pytest.fixture
def heard():
    """What `roles_changed` was sent with."""
    found = []

    def receive(signal, space_id, user_ids, **_):
        found.append((space_id, set(user_ids)))

    roles_changed.connect(receive)
    yield found
    roles_changed.disconnect(receive)


def test_who_makes_a_space_owns_it(team, ada):
    assert list(Space.objects.owned_by(ada).shared()) == [team]
    assert (team.kind, team.colour, team.needs_second_person) == ("team", 3, False)


def test_a_person_is_added_by_their_address(team, ada, stranger):
    members.add_by_email(team, " Stranger@Example.org ", EDITOR, by=ada)
    assert team in Space.objects.writable_by(stranger)
    with pytest.raises(members.AlreadyMemberError):
        members.add_by_email(team, "stranger@example.org", READER, by=ada)
    assert team.members.get(user=stranger).role == EDITOR


def test_who_has_no_account_cannot_be_added_and_the_sentence_says_whom_to_ask(team, ada):
    with pytest.raises(members.NoSuchPersonError) as refusal:
        members.add_by_email(team, "new@example.org", READER, by=ada)
    assert refusal.value.sentence == "Nobody here has the address new@example.org. Invite them first."


@pytest.mark.parametrize("role", [None, READER, EDITOR])
def test_only_owners_change_who_is_in_a_space(team, ada, stranger, admin_person, role):
    if role:
        members.add_by_email(team, stranger.email, role)
    adas = team.members.get(user=ada)
    for act in (
        lambda: members.add_by_email(team, admin_person.email, READER, by=stranger),
        lambda: members.change_role(adas, READER, by=stranger),
        lambda: members.remove(adas, by=stranger),
        lambda: members.hand_over(team, stranger, adas),
    ):
        with pytest.raises(lifecycle.SpaceNotFoundError):
            act()
    assert team.members.count() == 1 + (role is not None)


def test_the_last_owner_stays(team, ada, stranger):
    member = members.add_by_email(team, stranger.email, EDITOR)
    group = Group.objects.create(name="night shift")
    GroupMember.objects.create(group=group, user=stranger)
    # An owner through a group does not count: single sign-on may empty the group.
    members.add_group(team, group, OWNER)
    adas = team.members.get(user=ada)
    for act in (
        lambda: members.leave(team, ada),
        lambda: members.remove(adas),
        lambda: members.change_role(adas, EDITOR),
    ):
        with pytest.raises(members.LastOwnerError):
            act()
    members.change_role(member, OWNER, by=ada)
    members.leave(team, ada)
    team.refresh_from_db()
    assert team.owner == stranger
    assert not Space.objects.shared().visible_to(ada).exists()


def test_ownership_is_handed_over(team, ada, stranger):
    members.hand_over(team, ada, members.add_by_email(team, stranger.email, READER))
    team.refresh_from_db()
    assert team.owner == stranger
    assert dict(team.members.values_list("user__email", "role")) == {ada.email: EDITOR, stranger.email: OWNER}


@pytest.mark.django_db(transaction=True)
def test_a_space_outlives_the_account_of_one_of_its_owners(team, ada, stranger):
    members.add_by_email(team, stranger.email, OWNER)
    ada.delete()
    team.refresh_from_db()
    assert (team.owner, team.members.get().user) == (stranger, stranger)
    stranger.delete()
    assert not Space.objects.filter(pk=team.pk).exists()


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("by", ["rules", "rows"])
def test_two_owners_who_leave_at_once_cannot_both(team, ada, stranger, by):
    members.add_by_email(team, stranger.email, OWNER)
    both_ready, refused = threading.Barrier(2), []

    def leave(user: User) -> None:
        try:
            with transaction.atomic():
                if by == "rows":
                    # Past the rules, as a faulty program would: both see the other owner, and only then commit.
                    SpaceMember.objects.filter(space=team, user=user).delete()
                both_ready.wait(10)
                if by == "rules":
                    members.leave(team, user)
        except (members.LastOwnerError, IntegrityError) as error:
            refused.append(error)
        finally:
            connection.close()

    threads = [threading.Thread(target=leave, args=[user]) for user in (ada, stranger)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)

    assert len(refused) == 1
    (left,) = team.members.filter(role=OWNER)
    team.refresh_from_db()
    if by == "rules":
        assert team.owner == left.user


@pytest.mark.django_db(transaction=True)
def test_receivers_hear_whose_roles_change_and_only_after_the_commit(team, ada, stranger, heard):
    heard.clear()
    group = groups.create("night shift")
    held = members.add_group(team, group, READER)
    groups.add(group, stranger)
    assert heard == [(team.pk, {stranger.pk})]
    heard.clear()
    with transaction.atomic():
        groups.delete(group)
        assert not heard
    assert {(team.pk, frozenset(people)) for _, people in heard} == {(team.pk, frozenset({stranger.pk}))}
    assert not SpaceGroup.objects.filter(pk=held.pk).exists()
    assert team not in Space.objects.visible_to(stranger)


def test_a_group_of_single_sign_on_is_changed_there_only(ada):
    group = Group.objects.create(name="crew", managed_by="oidc", external_id="7")
    for act in (
        lambda: groups.rename(group, "mine"),
        lambda: groups.delete(group),
        lambda: groups.add(group, ada),
    ):
        with pytest.raises(groups.ManagedGroupError):
            act()
    groups.set_groups(ada, "oidc", [group])
    assert group.members.get().user == ada
    groups.set_groups(ada, "oidc", [])
    assert not group.members.exists()
