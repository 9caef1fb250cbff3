"""Whatever five people do with memberships, conversations, proposals and forgetting: nothing is shown, searched, sent
to a model or written to the disk beyond a small model's rule at that moment."""

import json
import random
import re
import uuid
from collections import defaultdict

import pytest
from django.utils import timezone

from chat.extensions import ToolCall, ToolError
from chat.models import ChatSession, Message, default_agent
from memory.documents.write import Append, Author, Source, apply
from memory.files import disk
from memory.files.folders import folder_of
from memory.files.mirror import try_to_mirror
from memory.forgetting.forget import forget
from memory.index import conversations
from memory.index.documents import index_document
from memory.invariants import INVARIANTS
from memory.models import MemoryDocument, Proposal
from memory.notes import flush
from memory.policy.access import may_ask, may_forget, sources_for
from memory.prompt.recall import recalled_items, recalled_text, workspace_items, workspace_section
from memory.search.manager import HybridSearchManager
from memory.tools import proposals
from memory.tools.reading import GET, SEARCH
from memory.tools.save_memory import SAVE
from memory.trust.proposals import decline, withdraw
from memory.views.palette import search as palette
from oneclaw.demo.scripted import answer
from oneclaw.models import Space, SpaceMember, User

WORD = re.compile(r"\bzq[a-z]{6}\b")
ROLES = ("owner", "editor", "reader")
STEPS = 110


class World:
    """The product, driven at random, beside the rule: which words are in which memory, and who said which."""

    def __init__(self, seed, scripted):
        self.random, self.scripted = random.Random(seed), scripted
        self.people = [
            User.objects.create_user(f"p{number}@example.org", "correct horse battery") for number in range(5)
        ]
        self.spaces = [
            Space.objects.create(owner=self.people[number], kind=Space.Kind.TEAM, name=f"Team {number}")
            for number in range(2)
        ]
        for space in self.spaces:
            SpaceMember.objects.create(space=space, user=space.owner, role="owner")
            for person in self.people:
                SpaceMember.objects.get_or_create(space=space, user=person, defaults={"role": "editor"})
        self.own = {person.pk: Space.objects.own_of(person) for person in self.people}
        self.sessions: list[ChatSession] = []
        # The rule: words in a memory; and of a conversation, each word with its author.
        self.held: dict[int, set[str]] = defaultdict(set)
        self.said: dict[uuid.UUID, list[tuple[str, int]]] = defaultdict(list)
        for _ in range(4):
            self.begin()
        self.share()
        scripted.default = lambda body: answer(
            "\n".join(f"- {word} was named." for word in words_in(body)) or "NO_REPLY"
        )

    # What people do.

    def step(self):
        acts = (self.change_role, self.begin, self.say, self.say, self.share, self.save, self.flush, self.index)
        acts += (self.propose, self.decide, self.decide, self.write, self.forget)
        self.random.choice(acts)()

    def change_role(self):
        space, person = self.random.choice(self.spaces), self.random.choice(self.people)
        if person == space.owner:
            return
        SpaceMember.objects.filter(space=space, user=person).delete()
        if (role := self.random.choice((*ROLES, None))) is not None:
            SpaceMember.objects.create(space=space, user=person, role=role)

    def begin(self):
        owner, space = self.random.choice(self.people), self.random.choice((*self.spaces, None))
        self.sessions.append(
            ChatSession.objects.create(key=str(uuid.uuid4()), owner=owner, agent=default_agent(), space=space)
        )

    def share(self):
        if not self.sessions:
            return
        session = self.random.choice(self.sessions)
        if session.shared_at is not None:
            session.shared_at = None
        elif (space := self.random.choice(self.spaces)) and space in Space.objects.writable_by(session.owner):
            session.space, session.shared_at = space, timezone.now()
        session.save(update_fields=["space", "shared_at"])

    def say(self):
        session, person = self.session_and_writer()
        if session is None:
            return
        word, text = self.word()
        session.last_seq += 1
        session.save(update_fields=["last_seq"])
        author = None if person == session.owner else person
        Message.objects.create(session=session, seq=session.last_seq, role="user", text=text, author=author)
        self.said[session.pk].append((word, person.pk))

    def save(self):
        session, person = self.session_and_writer()
        if session is None:
            return
        word, text = self.word()
        session.last_seq += 1
        session.save(update_fields=["last_seq"])
        author = None if person == session.owner else person
        Message.objects.create(session=session, seq=session.last_seq, role="user", text=text, author=author)
        self.said[session.pk].append((word, person.pk))
        saved = SAVE.call(ToolCall(str(uuid.uuid4()), "save_memory", {"content": text}, person, session)).content
        if saved["saved"]:
            space = session.space if session.shared_at else self.own[session.owner_id]
            self.held[space.pk].add(word)

    def flush(self):
        if not self.sessions:
            return
        session = self.random.choice(self.sessions)
        session.refresh_from_db()
        after = session.flushes.finished().order_by("-through_seq").values_list("through_seq", flat=True).first() or 0
        queued = flush.request(session, "switched")
        while queued is not None:
            pk = queued if isinstance(queued, int) else queued.pk
            queued = flush.run(pk)
        # Each message has one word: that of its place.
        fresh = self.said[session.pk][after:]
        if session.shared_at is not None:
            self.held[session.space_id] |= {word for word, _ in fresh}
        else:
            self.held[self.own[session.owner_id].pk] |= {word for word, by in fresh if by == session.owner_id}

    def index(self):
        for session in self.sessions:
            if (pk := conversations.request(session)) is not None:
                conversations.run(pk)

    def propose(self):
        space, person = self.random.choice(self.spaces), self.random.choice(self.people)
        if person not in User.objects.filter(space_roles__space=space):
            return
        word, text = self.word()
        row = proposals.propose(space, text, person, Proposal.Kind.WRITTEN)
        if not row.is_waiting:
            self.held[space.pk].add(word)

    def decide(self):
        waiting = list(Proposal.objects.waiting())
        if not waiting:
            return
        row, person = self.random.choice(waiting), self.random.choice(self.people)
        role = SpaceMember.objects.filter(space=row.space, user=person).values_list("role", flat=True).first()
        may = role in ("owner", "editor") and person != row.author
        act = self.random.choice(("accept", "decline", "withdraw"))
        if act == "decline":
            assert decline(row, person) == may
        elif act == "withdraw":
            assert withdraw(row, person) == (person == row.author and role is not None)
        elif may:
            proposals.accept(row, person)
            self.held[row.space_id] |= set(WORD.findall(row.text))
        else:
            with pytest.raises(proposals.NotYoursToDecideError):
                proposals.accept(row, person)

    def write(self):
        person = self.random.choice(self.people)
        word, text = self.word()
        apply(self.own[person.pk], "MEMORY.md", Append(f"- {text}\n"), Author(Source.PAGE, person))
        self.held[self.own[person.pk].pk].add(word)

    def forget(self):
        space = self.random.choice([*self.spaces, *self.own.values()])
        person = self.random.choice(self.people)
        if not self.held[space.pk] or not may_forget(person, space):
            return
        word = self.random.choice(sorted(self.held[space.pk]))
        lines = {
            line
            for content in space.documents.values_list("content", flat=True)
            for line in content.split("\n")
            if word in line
        }
        forget(space, sorted(lines), person)
        self.held[space.pk].discard(word)

    # The rule.

    def roles(self, person):
        return set(SpaceMember.objects.filter(user=person, space__in=self.spaces).values_list("space", flat=True))

    def said_in(self, space_ids):
        """The words that were said in conversations that are shared with these spaces now."""
        shared = [each for each in self.sessions if each.shared_at and each.space_id in space_ids]
        return {word for each in shared for word, _ in self.said[each.pk]}

    def readable_by(self, person):
        spaces = self.roles(person)
        private = [each for each in self.sessions if each.owner_id == person.pk and not each.shared_at]
        mine = {word for each in private for word, by in self.said[each.pk] if by == person.pk}
        held = {word for pk in (*spaces, self.own[person.pk].pk) for word in self.held[pk]}
        return mine | held | self.said_in(spaces)

    def readable_in(self, session):
        """The words that a prompt of `session` and its tools may bring."""
        if session.shared_at:
            return self.held[session.space_id] | self.said_in({session.space_id})
        spaces = {session.space_id} & self.roles(session.owner)
        private = [each for each in self.sessions if each.owner_id == session.owner_id and not each.shared_at]
        mine = {word for each in private for word, by in self.said[each.pk] if by == session.owner_id}
        held = {word for pk in (*spaces, self.own[session.owner_id].pk) for word in self.held[pk]}
        return mine | held | self.said_in(spaces)

    def check(self):
        for document in MemoryDocument.objects.to_index():
            index_document(document.pk)
        for document in MemoryDocument.objects.to_mirror():
            try_to_mirror(document.pk)
        for space in (*self.spaces, *self.own.values()):
            self.compare(f"disk of {space}", "\n".join(files_of(space)), self.held[space.pk])
        person = self.random.choice(self.people)
        allowed = self.readable_by(person)
        asked = f"Who named {self.random.choice(self.all_words())}?"
        spaces = list(Space.objects.visible_to(person))
        found = HybridSearchManager(spaces, sources_for(person)).search(asked, max_results=60, min_score=0)
        self.compare(f"search of {person}", "\n".join(each.snippet for each in found), allowed)
        results = palette(person, [asked.split()[-1].rstrip("?")], 20)
        self.compare(f"palette of {person}", "\n".join(str(each.snippet) for each in results), allowed)
        visible = MemoryDocument.objects.visible_to(person).values_list("content", flat=True)
        self.compare(f"documents of {person}", "\n".join(visible), allowed)
        if self.sessions:
            self.check_prompt(self.random.choice(self.sessions), asked)

    def check_prompt(self, session, asked):
        session = ChatSession.objects.get(pk=session.pk)
        asker = self.random.choice(self.people) if session.shared_at else session.owner
        allowed = self.readable_in(session) if may_ask(asker, session) else set()
        message = Message(session=session, seq=session.last_seq + 1, role="user", text=asked, author=asker)
        texts = [recalled_text(recalled_items(session, message)).replace(asked, "")]
        if may_ask(asker, session):
            texts.append(workspace_section(session, workspace_items(session)))
        other = self.random.choice(self.sessions)
        for tool, arguments in (
            (SEARCH, {"query": asked, "min_score": 0, "max_results": 60}),
            (GET, {"path": "MEMORY.md"}),
            (GET, {"path": f"spaces/{self.random.choice([*self.spaces, *self.own.values()]).pk}/MEMORY.md"}),
            (GET, {"path": f"/c/{other.pk}"}),
        ):
            try:
                called = ToolCall("toolu_1", tool.name, arguments, asker, session)
                texts.append(json.dumps(tool.call(called).content))
            except ToolError as error:
                texts.append(error.message.replace(asked, ""))
        self.compare(f"prompt of {session} by {asker}", "\n".join(texts), allowed)

    def compare(self, where, text, allowed):
        beyond = words_in(text) - allowed
        assert not beyond, f"{where}: {beyond}"

    # Words.

    def word(self):
        word = "zq" + "".join(self.random.choices("abcdefghijklmnopqrstuvwxyz", k=6))
        return word, f"The person of the day is called {word} by everybody here."

    def all_words(self):
        words = {word for held in self.held.values() for word in held}
        return sorted(words | {word for said in self.said.values() for word, _ in said}) or ["nobody"]

    def session_and_writer(self):
        if not self.sessions:
            return None, None
        session = self.random.choice(self.sessions)
        if session.shared_at is None:
            return session, session.owner
        writers = list(User.objects.filter(space_roles__space=session.space, space_roles__role__in=("owner", "editor")))
        return session, self.random.choice(writers)


def words_in(value):
    return set(WORD.findall(value if isinstance(value, str) else json.dumps(value)))


def files_of(space):
    folder = folder_of(space)
    for path in space.documents.values_list("path", flat=True):
        yield disk.read(folder, path) or ""


@pytest.mark.parametrize("seed", range(2))
def test_nothing_gets_further_than_the_rule_says(seed, db, scripted, settings):
    settings.CONTRADICTIONS = False
    world = World(seed, scripted)
    for number in range(STEPS):
        world.step()
        if number % 5 == 0:
            world.check()
    # The rule says no less than there is to see.
    for space in world.spaces:
        assert words_in("\n".join(files_of(space))) == world.held[space.pk]
    assert sum(len(world.held[space.pk]) for space in world.spaces) > 2, dict(world.held)
    broken = [sentence for each in INVARIANTS for sentence in each.violations()]
    assert broken == []
