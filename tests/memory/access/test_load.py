"""The facts of conversations are loaded by one statement, however many they are, and are those of whoever asks."""

import pytest
from django.utils import timezone

from chat.models import Agent, ChatSession
from memory.access.load import access_of, accesses_of
from memory.access.rights import agent_space
from memory.models import SwitchChoice
from oneclaw.models import Space, SpaceMember, User


@pytest.fixture
def kitchen(ada, stranger):
    made = Space.objects.create(kind="team", name="Kitchen", owner=ada)
    SpaceMember.objects.create(space=made, user=ada, role="owner")
    SpaceMember.objects.create(space=made, user=stranger, role="reader")
    return made


@pytest.fixture
def talk(ada, session):
    def begin(**columns):
        columns = {"owner": ada, "agent": session.agent} | columns
        made = ChatSession.objects.create(key=f"k{ChatSession.objects.count()}", **columns)
        return ChatSession.objects.select_related("agent", "owner").get(pk=made.pk)

    return begin


def test_one_statement_loads_them_all(ada, stranger, space, kitchen, talk, append, django_assert_num_queries):
    append(space, "Green tea.", path="memory/2026-11-02.md")
    append(kitchen, "# Baking", path="skills/baking/SKILL.md")
    SwitchChoice.objects.create(user=ada, switch="recent", on=False)
    diary = Agent.objects.create(owner=ada, slug="diary", name="Diary", own_memory=True)
    remembered = agent_space(diary, ada)
    sessions = [
        talk(),
        talk(space=kitchen),
        talk(agent=diary, space=kitchen),
        talk(space=kitchen, shared_at=timezone.now()),
        talk(owner=stranger, space=kitchen, memory="space"),
    ]
    Space.objects.own_of(stranger)
    with django_assert_num_queries(1):
        private, both, of_agent, shared, theirs = accesses_of(sessions).values()
    assert (private.spaces, both.spaces, of_agent.spaces) == ([space], [space, kitchen], [remembered, kitchen])
    assert (shared.spaces, theirs.spaces) == ([kitchen], [kitchen])
    assert (private.home.has_notes, private.home.has_skills) == (True, False)
    assert (shared.home.has_notes, shared.home.has_skills) == (False, True)
    assert "recent" not in private.on
    assert "recent" in theirs.on
    assert (shared.may_ask, shared.may_change) == (True, True)
    reader = access_of(sessions[3], stranger)
    assert (reader.may_ask, reader.may_change) == (True, False)


def test_a_former_member_reads_nothing_of_the_space_and_may_not_ask_there(ada, stranger, kitchen, talk):
    private = talk(owner=stranger, space=kitchen)
    shared = talk(space=kitchen, shared_at=timezone.now())
    SpaceMember.objects.filter(user=stranger).delete()
    assert access_of(private).spaces == [Space.objects.own_of(stranger)]
    assert not access_of(shared, stranger).may_ask
    assert access_of(shared).may_ask


def test_spaces_that_are_missing_are_made(talk):
    person = User.objects.create_user("new@example.com")
    Space.objects.filter(owner=person).delete()
    SwitchChoice.objects.create(user=person, switch="saved", on=False)
    diary = Agent.objects.create(slug="diary", name="Diary", own_memory=True)
    plain, apart = access_of(talk(owner=person)), access_of(talk(owner=person, agent=diary))
    assert plain.home.space == Space.objects.get(owner=person, kind="own")
    assert "saved" not in plain.on
    assert apart.home.space == agent_space(diary, person)
