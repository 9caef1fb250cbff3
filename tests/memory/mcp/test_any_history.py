"""Random histories of five people with three programs: grants, roles and switches come and go, and each call reads what
an independent table says, and nothing else."""

import random

import pytest
from django.utils import timezone

from memory.access.programs import ProgramAccess, UnreadableSpaceError
from memory.documents import write
from memory.documents.write import Append, Author, Source
from memory.mcp import reading
from memory.mcp.call import ProgramCall
from memory.models import MemoryDocument, Proposal, Suggestion
from memory.policy import switches
from memory.policy.switches import Switch
from memory.tools import programs
from oneclaw.models import ApiKey, Space, SpaceMember, User
from oneclaw.people import keys
from oneclaw.people.programs.grants import Grant, ScopeError, access_of

LEVELS = ["", "read", "propose", "write"]
STEPS = 40


class History:
    """What happened, as a table of its own: roles, grants and switches."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.people = [
            User.objects.create_user(f"p{number}@example.org", "correct horse battery") for number in range(5)
        ]
        owner = self.people[0]
        self.spaces = [Space.objects.create(owner=owner, kind="team", name=f"Space {number}") for number in range(2)]
        self.roles, self.grants, self.on = {}, {}, dict.fromkeys(self.people, True)
        for space in self.spaces:
            self.set_role(owner, space, "owner")
        self.words = {}
        for number, space in enumerate([*map(Space.objects.own_of, self.people), *self.spaces]):
            self.words[space] = f"zebra{number}"
            text = f"- The animal is called zebra{number} and lives here.\n"
            write.apply(space, "MEMORY.md", Append(text), Author(Source.PAGE, owner))
        self.keys = [keys.make(self.random.choice(self.people), f"Program {n}", "year")[0] for n in range(3)]
        for key in self.keys:
            self.set_grant(key)

    def set_role(self, who, space, role):
        SpaceMember.objects.filter(user=who, space=space).delete()
        self.roles.pop((who, space), None)
        if role:
            SpaceMember.objects.create(user=who, space=space, role=role)
            self.roles[who, space] = role

    def set_grant(self, key):
        chosen = {space: self.random.choice(LEVELS) for space in self.spaces}
        own = self.random.choice(LEVELS)
        self.grants[key] = {"own": own, **chosen}
        ApiKey.objects.filter(pk=key.pk).update(access=access_of(own, {s.pk: lv for s, lv in chosen.items()}, False))

    def step(self):
        """One change by somebody."""
        act = self.random.choice(["role", "grant", "switch", "second", "archive"])
        who, space = self.random.choice(self.people[1:]), self.random.choice(self.spaces)
        if act == "role":
            self.set_role(who, space, self.random.choice(["", "reader", "editor", "owner"]))
        elif act == "grant":
            self.set_grant(self.random.choice(self.keys))
        elif act == "switch":
            who = self.random.choice(self.people)
            self.on[who] = not self.on[who]
            switches.choose(who, Switch.SAVED, self.on[who])
        elif act == "second":
            space.needs_second_person = not space.needs_second_person
            space.save()
        else:
            space.archived_at = None if space.archived_at else timezone.now()
            space.save()

    def levels(self, key):
        """The spaces that the program may read, each with its level, by the table alone."""
        who = key.user
        found = {}
        if self.grants[key]["own"]:
            found[Space.objects.own_of(who)] = self.grants[key]["own"]
        for space in self.spaces:
            level, role = self.grants[key][space], self.roles.get((who, space))
            if not level or not role:
                continue
            if role == "reader" or space.archived_at:
                level = "read"
            elif space.needs_second_person and level == "write":
                level = "propose"
            found[space] = level
        return {space: level if self.on[who] else "read" for space, level in found.items()}


@pytest.mark.parametrize("seed", range(2))
def test_each_call_reads_and_saves_what_the_table_says(db, seed):
    history = History(seed)
    for number in range(STEPS):
        history.step()
        key = ApiKey.objects.select_related("user").get(pk=history.random.choice(history.keys).pk)
        expected, access = history.levels(key), ProgramAccess.of(Grant.of(key))
        call = ProgramCall(Grant.of(key), "http://testserver")
        assert {space: level.name.lower() for space, level in access.levels.items()} == expected
        readable = {history.words[space] for space in expected} if history.on[key.user] else set()
        found = reading.search(call, access, "What is the animal called?", max_results=30)
        assert {word for word in history.words.values() if any(word in each.text for each in found.results)} <= readable
        said = reading.briefing(call, access).model_dump_json()
        assert {word for word in history.words.values() if word in said} <= readable
        for space in history.words:
            path = f"spaces/{space.pk}/MEMORY.md"
            if space in expected and history.on[key.user]:
                assert history.words[space] in reading.read_lines(call, access, path).text
            else:
                with pytest.raises(reading.NothingThereError):
                    reading.read_lines(call, access, path)
        save_somewhere(history, access, expected, number)


def save_somewhere(history, access, expected, number):
    space, text = history.random.choice(list(history.words)), f"Fact number {number} of program {access.key.pk}."
    before = {each.pk: each.content for each in MemoryDocument.objects.all()}
    waiting = Suggestion.objects.count() + Proposal.objects.count()
    try:
        outcome = programs.save(access, access.space(space.pk), text, f"request {number}")
    except (UnreadableSpaceError, ScopeError):
        assert expected.get(space, "read") == "read"
        assert {each.pk: each.content for each in MemoryDocument.objects.all()} == before
        return
    assert expected[space] in ("propose", "write")
    assert (outcome.state == "saved") == (expected[space] == "write")
    assert programs.save(access, access.space(space.pk), text, f"request {number}").state == outcome.state
    changed = [each for each in MemoryDocument.objects.all() if before.get(each.pk) != each.content]
    assert [each.space for each in changed] == ([space] if outcome.state == "saved" else [])
    assert Suggestion.objects.count() + Proposal.objects.count() == waiting + (outcome.state != "saved")
