"""What a conversation may read and write of memory: every row of the table in `MemoryAccess`, without a database."""

from dataclasses import replace

import pytest
from django.utils import timezone

from chat.models import Agent, ChatSession
from memory.access.decided import AccessFacts, KnownSpace, MemoryAccess, Switch
from oneclaw.models import Space, SpaceMember, User

ADA = User(pk=1)
OWN = KnownSpace(Space(pk=10, kind="own", owner=ADA))
AGENT = KnownSpace(Space(pk=20, kind="agent", owner=ADA))
SPACE = KnownSpace(Space(pk=30, kind="team"), has_files=True)
ARCHIVED = KnownSpace(Space(pk=30, kind="team", archived_at=timezone.now()))
NAMES = {OWN.space: "own", AGENT.space: "agent", SPACE.space: "space"}
COLUMNS = ("reads", "head", "transcripts", "saves", "notes", "skills")


def facts(space=None, agents=None, role="", **columns):
    session = ChatSession(owner=ADA, agent=Agent(own_memory=agents is not None), **columns)
    return AccessFacts(session, frozenset(Switch), OWN, agents, space, role)


IN_SPACE = {"space": SPACE, "role": "reader"}
SHARED = IN_SPACE | {"shared_at": timezone.now()}
# What each row of the table is about, by its name there.
CONVERSATIONS = {
    "private": facts(),
    "in a space": facts(**IN_SPACE),
    "in a space, memory own": facts(**IN_SPACE, memory="own"),
    "in a space, memory space": facts(**IN_SPACE, memory="space"),
    "memory none": facts(memory="none"),
    "in a space that was left": facts(space=SPACE),
    "agent with its own memory": facts(agents=AGENT),
    "such an agent in a space": facts(agents=AGENT, **IN_SPACE),
    "shared": replace(facts(**SHARED), own=None),
    "shared, memory none": replace(facts(**SHARED, memory="none"), own=None),
    "shared, archived": replace(facts(**SHARED), space=ARCHIVED, own=None),
    "sub-session": facts(kind="sub"),
    "scheduled turn": facts(kind="beat"),
    # Its conversation is made without memory (chat/routes/deliver.py).
    "peer who is not the owner": facts(memory="none"),
    "mode chat": facts(mode="chat"),
    "temporary": facts(mode="temporary"),
}


def table():
    """Return {name of a conversation: {column: cell}} of the table in the docstring."""
    lines = [line.strip() for line in MemoryAccess.__doc__.split("\n")]
    first, head, last = (number for number, line in enumerate(lines) if line.startswith("===="))
    assert head == first + 2
    widths = [len(rule) + 2 for rule in lines[head].split()]
    starts = [sum(widths[:number]) for number in range(len(widths))]
    rows = {}
    for line in lines[head + 1 : last]:
        name, *cells = (line[start : start + width].strip() for start, width in zip(starts, widths, strict=True))
        rows[name] = dict(zip(COLUMNS, cells, strict=True))
    return rows


def names(spaces):
    return ", ".join(NAMES[space] for space in spaces if space) or "-"


def decided(access):
    """Return what was decided, in the words of the table."""
    transcripts = [
        OWN.space if access.reads_own_transcripts else None,
        SPACE.space if access.reads_shared_transcripts else None,
    ]
    files = ", ".join(access.head_files) if access.head_files is not None else "all"
    return {
        "reads": names(access.spaces),
        "head": files if access.reads else "-",
        "transcripts": names(transcripts),
        "saves": names([access.saves_to]),
        "notes": names([access.notes_to]),
        "skills": names([known.space for known in access.skills]),
    }


def test_the_table_and_the_cases_are_about_the_same_conversations():
    assert list(table()) == list(CONVERSATIONS)


@pytest.mark.parametrize("name", CONVERSATIONS)
def test_each_row_of_the_table_is_what_is_decided(name):
    assert decided(MemoryAccess.of(CONVERSATIONS[name])) == table()[name]


@pytest.mark.parametrize("name", CONVERSATIONS)
@pytest.mark.parametrize(("switch", "columns"), [("saved", ("saves", "notes")), ("transcripts", ("transcripts",))])
def test_a_switch_that_is_off_removes_its_column_alone(name, switch, columns):
    known = replace(CONVERSATIONS[name], on=frozenset(Switch) - {switch})
    assert decided(MemoryAccess.of(known)) == table()[name] | dict.fromkeys(columns, "-")


@pytest.mark.parametrize("name", CONVERSATIONS)
def test_a_shared_conversation_has_nothing_of_a_person_and_no_other_writes_the_space(name):
    access = MemoryAccess.of(CONVERSATIONS[name])
    written = {access.home.space, access.saves_to, access.notes_to} - {None}
    if name.startswith("shared"):
        assert access.person is None
        assert {*access.spaces, *(known.space for known in access.skills), *written} == {SPACE.space}
        assert not access.reads_conversations
        assert not access.reads_own_transcripts
    else:
        assert access.person == ADA
        assert SPACE.space not in written


@pytest.mark.parametrize("role", ["", *SpaceMember.Role.values])
def test_who_asks_in_a_shared_conversation_counts_by_their_role(role):
    access = MemoryAccess.of(facts(**SHARED | {"role": role}))
    assert access.may_ask == bool(role)
    assert access.may_change == (role in ("owner", "editor"))
    assert not MemoryAccess.of(replace(facts(**SHARED | {"role": role}), space=ARCHIVED)).may_change


def test_what_an_answer_was_made_of_can_be_opened_after_another_memory_was_chosen():
    for memory in ("all", "own", "space", "none"):
        access = MemoryAccess.of(facts(**IN_SPACE, memory=memory))
        assert access.could_read == (OWN.space, SPACE.space)
    assert MemoryAccess.of(facts(mode="temporary")).could_read == ()


def test_libraries_are_those_with_files_and_never_an_agents():
    assert MemoryAccess.of(facts(**IN_SPACE)).libraries == [SPACE.space]
    assert MemoryAccess.of(facts(agents=replace(AGENT, has_files=True), **IN_SPACE)).libraries == [SPACE.space]


def test_there_is_nothing_to_search_without_memory_or_with_every_switch_off():
    assert MemoryAccess.of(facts()).may_search
    assert not MemoryAccess.of(facts(memory="none")).may_search
    for on, may_search in ((set(), False), ({"recent"}, True), ({"transcripts"}, True), ({"recall"}, False)):
        assert MemoryAccess.of(replace(facts(), on=frozenset(on))).may_search == may_search
