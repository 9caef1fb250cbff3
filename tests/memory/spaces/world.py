"""Five people, two spaces and a group, driven at random, beside a small rule.

It knows which word stands in which memory, who has said which in which conversation, and who has which role.

What people do is done by the product's own functions and pages. Each of them says whether it was allowed, and the rule
says the same.
"""

import random
import re
import uuid
from collections import defaultdict
from dataclasses import dataclass, field

from django.test import Client, TestCase

from chat.context.prompt import build_request
from chat.conversations import lifecycle, transcript
from chat.conversations.payers import payer_of_answers
from chat.conversations.shared import share
from chat.extensions import ToolCall
from chat.library import organise, spaces
from chat.models import ChatSession, Message
from memory.access.rights import may_forget
from memory.documents.write import Append, Author, Source, apply
from memory.forgetting.forget import forget
from memory.index import conversations
from memory.models import MemoryDocument, Proposal
from memory.notes import flush
from memory.tools import proposals
from memory.tools.save_memory import SAVE
from memory.trust.proposals import decline, withdraw
from oneclaw import llm
from oneclaw.models import Group, GroupMember, Space, SpaceGroup, SpaceMember, User
from oneclaw.text import UserFacingError
from tests.conversations import settle
from tests.programs import Program
from tests.scripted import answer

WORD = re.compile(r"\bzq[a-z]{6}\b")
ROLES = ("reader", "editor", "owner")
WRITERS = ROLES[1:]
REFUSALS = (UserFacingError, lifecycle.SessionNotFoundError)


def words_in(text):
    return set(WORD.findall(text))


@dataclass
class Talk:
    """A conversation by the rule: what stands in each of its messages, by whom, and what its model was sent."""

    pk: uuid.UUID
    owner: int
    space: int | None
    title: str
    # The place of a message is its number less one; (None, None) for an answer.
    said: list[tuple[str | None, int | None]] = field(default_factory=list)
    # Of each time in which it was shared, and 0 for those in which it was private: words of memory in its requests.
    sent: dict[int, set[str]] = field(default_factory=lambda: defaultdict(set))
    is_shared: bool = False
    times_shared: int = 0
    # Of a copy of a link for the members of a space: that space.
    copied_of: int | None = None

    @property
    def row(self):
        return ChatSession.objects.select_related("owner", "agent", "space").get(pk=self.pk)

    @property
    def time(self):
        return self.times_shared if self.is_shared else 0

    def words(self, by=None):
        """All that was said, or what one person said; and the title."""
        return {self.title} | {word for word, author in self.said if word and by in (None, author)}

    def sent_before(self):
        """What the model knows from its earlier requests: in a private conversation all of them are its owner's."""
        return self.sent[self.time] if self.is_shared else set().union(*self.sent.values())


@dataclass(frozen=True)
class Link:
    """A link by the rule: who may open it, and what it shows."""

    address: str
    talk: Talk
    scope: str
    space: int | None
    words: frozenset[str]


class World:
    """The product, driven at random, and the rule beside it."""

    def __init__(self, seed, scripted):
        self.random, self.scripted = random.Random(seed), scripted
        self.people = [
            User.objects.create_user(f"p{number}@example.org", "correct horse battery") for number in range(5)
        ]
        self.browsers = {person.pk: Client() for person in self.people} | {None: Client()}
        for person in self.people:
            self.browsers[person.pk].force_login(person)
        self.programs = {person.pk: Program(person) for person in self.people}
        self.spaces = [
            Space.objects.create(owner=self.people[number], kind=Space.Kind.TEAM, name=f"Team {number}")
            for number in range(2)
        ]
        self.own = {person.pk: Space.objects.own_of(person) for person in self.people}
        self.group = Group.objects.create(name="Readers")
        SpaceGroup.objects.create(space=self.spaces[1], group=self.group, role="reader")
        # The rule: roles of members, who is in the group, words in each memory and in what waits for it, conversations
        # and links.
        self.members: dict[tuple[int, int], str] = {}
        self.grouped: set[int] = set()
        self.held: dict[int, set[str]] = defaultdict(set)
        self.proposed: dict[int, set[str]] = defaultdict(set)
        self.talks: list[Talk] = []
        self.links: list[Link] = []
        for space in self.spaces:
            for person in self.people:
                self.give(space, person, "owner" if person == space.owner else "editor")
        for _ in range(4):
            self.begin()
        scripted.default = lambda body: answer(
            "\n".join(f"- {word} was named." for word in sorted(words_in(str(body)))) or "NO_REPLY"
        )

    # What people do.

    def step(self):
        acts = (self.change_role, self.change_group, self.begin, self.say, self.ask, self.ask, self.share, self.share)
        acts += (self.unshare, self.move, self.save, self.flush, self.flush, self.index, self.propose, self.decide)
        acts += (self.decide, self.write, self.write_in_space, self.forget, self.link, self.copy, self.delete)
        # What hangs on commits happens too, though the test's transaction is never committed.
        with TestCase.captureOnCommitCallbacks(execute=True):
            act = self.random.choice(acts)
            act()
        return act.__name__

    def change_role(self):
        space, person = self.random.choice(self.spaces), self.random.choice(self.people)
        if person != space.owner:
            self.give(space, person, self.random.choice((*ROLES, None)))

    def give(self, space, person, role):
        for row in SpaceMember.objects.filter(space=space, user=person):
            row.delete()
        self.members.pop((space.pk, person.pk), None)
        if role is not None:
            SpaceMember.objects.create(space=space, user=person, role=role)
            self.members[space.pk, person.pk] = role

    def change_group(self):
        person = self.random.choice(self.people)
        if person.pk in self.grouped:
            GroupMember.objects.get(group=self.group, user=person).delete()
        else:
            GroupMember.objects.create(group=self.group, user=person)
        self.grouped ^= {person.pk}

    def begin(self):
        owner, space = self.random.choice(self.people), self.random.choice((*self.spaces, None))
        title, text = self.word(), self.word()
        accepted = transcript.accept(owner, uuid.uuid4(), uuid.uuid4(), self.sentence(text))
        ChatSession.objects.filter(pk=accepted.turn.session_id).update(title=title, titled_by="person")
        talk = Talk(accepted.turn.session_id, owner.pk, None, title)
        self.talks.append(talk)
        self.answered(talk, accepted, text, owner)
        if space is not None:
            self.moved(talk, owner, space)

    def say(self):
        self.told(*self.talk_and_writer(), self.word())

    def told(self, talk, person, word):
        """Let `person` write `word`; return the message and the request for its answer."""
        accepted = transcript.accept(person, talk.pk, uuid.uuid4(), self.sentence(word))
        request = build_request(accepted.turn)
        self.answered(talk, accepted, word, person)
        return accepted, request

    def answered(self, talk, accepted, word, person):
        settle(accepted, "Yes.")
        talk.said += [(word, person.pk), (None, None)]

    def ask(self):
        """The request of a message, as it arrives at the model's server, has nothing beyond the rule."""
        talk, person = self.talk_and_writer()
        word = self.word()
        accepted, request = self.told(talk, person, word)
        llm.complete_sync(request, payer_of_answers(accepted.turn))
        sent = words_in(str(self.scripted.messages[-1].body))
        allowed = self.readable_in(talk) | talk.words() | talk.sent_before()
        assert sent <= allowed, f"request of {talk} by {person}: {sent - allowed}"
        talk.sent[talk.time] |= sent - talk.words()

    def share(self):
        talk, person, space = self.any_talk(), self.random.choice(self.people), self.random.choice(self.spaces)
        if self.random.random() < 0.5:
            person = self.person(talk.owner)
        may = person.pk == talk.owner and self.manages(person, talk) and self.role(person, space) in WRITERS
        assert self.did(lambda: share.share(person, talk.row, space)) == may
        if may and not (talk.is_shared and talk.space == space.pk):
            talk.space, talk.is_shared, talk.times_shared = space.pk, True, talk.times_shared + 1

    def unshare(self):
        talk, person = self.any_talk(), self.random.choice(self.people)
        may = self.manages(person, talk)
        assert self.did(lambda: share.unshare(person, talk.row)) == may
        if may:
            talk.is_shared = False

    def move(self):
        talk, space = self.any_talk(), self.random.choice((*self.spaces, None))
        person = self.random.choice((*self.people, self.person(talk.owner), self.person(talk.owner)))
        self.moved(talk, person, space)

    def moved(self, talk, person, space):
        may = person.pk == talk.owner and not talk.is_shared and (space is None or bool(self.role(person, space)))
        assert self.did(lambda: spaces.move(person, talk.pk, space)) == may
        if may:
            talk.space = space and space.pk

    def save(self):
        talk, person = self.talk_and_writer()
        word = self.word()
        self.told(talk, person, word)
        call = ToolCall(str(uuid.uuid4()), "save_memory", {"content": self.sentence(word)}, person, talk.row)
        saved = SAVE.call(call).content
        target = talk.space if talk.is_shared else self.own[talk.owner].pk
        (self.held if saved["saved"] else self.proposed)[target].add(word)

    def flush(self):
        talk = self.any_talk()
        session = talk.row
        finished = session.flushes.finished().order_by("-through_seq").values_list("through_seq", flat=True).first()
        queued = flush.request(session, "switched")
        while queued is not None:
            queued = flush.run(queued.pk)
        fresh = [each for each in talk.said[finished or session.copied_seq :] if each[0]]
        target = talk.space if talk.is_shared else self.own[talk.owner].pk
        noted = {word for word, by in fresh if talk.is_shared or by == talk.owner}
        # What memory itself has brought into the conversation is not noted again.
        contents = MemoryDocument.objects.filter(space=target).values_list("content", flat=True)
        self.held[target] |= (noted | {talk.title} if noted else noted) & words_in("\n".join(contents))

    def index(self):
        for talk in self.talks:
            if (pk := conversations.request(talk.row)) is not None:
                conversations.run(pk)

    def propose(self):
        space, person = self.random.choice(self.spaces), self.random.choice(self.people)
        if self.role(person, space) is None:
            return
        word = self.word()
        row = proposals.propose(space, self.sentence(word), person, Proposal.Kind.WRITTEN)
        (self.proposed if row.is_waiting else self.held)[space.pk].add(word)

    def decide(self):
        waiting = list(Proposal.objects.waiting().select_related("space"))
        if not waiting:
            return
        row, person = self.random.choice(waiting), self.random.choice(self.people)
        role = self.role(person, row.space)
        may = role in WRITERS and (person != row.author or self.is_only_writer(person, row.space))
        act = self.random.choice(("accept", "accept", "decline", "withdraw"))
        if act == "decline":
            assert decline(row, person) == (may and person != row.author), (row, person)
        elif act == "withdraw":
            assert withdraw(row, person) == (person == row.author and role is not None)
        else:
            assert self.did(lambda: proposals.accept(row, person)) == may
            if may:
                self.held[row.space_id] |= words_in(row.text)

    def write(self):
        person, word = self.random.choice(self.people), self.word()
        self.written(self.own[person.pk], person, word)

    def write_in_space(self):
        """An owner changes the curated memory of a space directly."""
        space = self.random.choice(self.spaces)
        self.written(space, space.owner, self.word())

    def written(self, space, person, word):
        apply(space, "MEMORY.md", Append(f"- {self.sentence(word)}\n"), Author(Source.PAGE, person))
        self.held[space.pk].add(word)

    def forget(self):
        space = self.random.choice([*self.spaces, *self.own.values()])
        person = self.random.choice((*self.people, space.owner))
        may = person == space.owner if space.is_private else self.role(person, space) == "owner"
        assert may_forget(person, space) == may
        known = sorted(self.held[space.pk] - {talk.title for talk in self.every_talk()})
        if not known or not may:
            return
        word = self.random.choice(known)
        contents = space.documents.values_list("content", flat=True)
        lines = {line for content in contents for line in content.split("\n") if word in line}
        forget(space, sorted(lines), person)
        self.held[space.pk].discard(word)
        self.proposed[space.pk].discard(word)
        if not any(word in held for held in self.held.values()):
            for talk in self.every_talk():
                for sent in talk.sent.values():
                    sent.discard(word)

    def link(self):
        talk, person = self.any_talk(), self.random.choice(self.people)
        if self.random.random() < 0.7:
            person = self.person(talk.owner)
        space = self.random.choice(self.spaces)
        scope = self.random.choice(("everybody", "signed_in", "space"))
        form = {"period": "week", "scope": f"space-{space.pk}" if scope == "space" else scope}
        page = self.browsers[person.pk].post(f"/c/{talk.pk}/share", form).content.decode()
        may = person.pk == talk.owner and self.manages(person, talk)
        may = may and (scope != "space" or bool(self.role(person, space)))
        may = may and self.lets_out(talk, space if scope == "space" else None)
        found = re.search(r"http://testserver(/s/[\w-]+)", page)
        assert bool(found) == may, page
        if found:
            of = space.pk if scope == "space" else None
            self.links.append(Link(found[1], talk, scope, of, frozenset(talk.words())))

    def copy(self):
        if not self.links:
            return
        link, person = self.random.choice(self.links), self.random.choice(self.people)
        response = self.browsers[person.pk].post(f"{link.address}/copy")
        assert (response.status_code == 302) == self.opens(person, link), response
        if response.status_code != 302:
            return
        pk = uuid.UUID(response["Location"].rsplit("/", 1)[1])
        messages = Message.objects.filter(session=pk).order_by("seq").values_list("text", flat=True)
        # What others have said: it is read there, and is nobody's own words.
        said = [(next(iter(words_in(text)), None), -1) for text in messages]
        assert {word for word, _ in said if word} <= link.words
        self.talks.append(Talk(pk, person.pk, None, link.talk.title, said, copied_of=link.space))

    def delete(self):
        talk, person = self.any_talk(), self.random.choice(self.people)
        if len(self.talks) < 4:
            return
        may = self.manages(person, talk)
        assert bool(organise.organise(person, [talk.pk], "delete")) == may
        if may:
            self.talks.remove(talk)

    # The rule.

    def role(self, person, space):
        """The role of a person in a space: that of a member, or that of the group."""
        own = self.members.get((space.pk, person.pk))
        return own or ("reader" if space == self.spaces[1] and person.pk in self.grouped else None)

    def spaces_of(self, person):
        return {space.pk for space in self.spaces if self.role(person, space)}

    def is_only_writer(self, person, space):
        return not any(self.role(each, space) in WRITERS for each in self.people if each != person)

    def sees(self, person, talk):
        return talk.space in self.spaces_of(person) if talk.is_shared else talk.owner == person.pk

    def manages(self, person, talk):
        if not talk.is_shared:
            return talk.owner == person.pk
        role = self.role(person, self.space(talk.space))
        return role == "owner" or (bool(role) and talk.owner == person.pk)

    def lets_out(self, talk, space):
        """Whether a link may be for the members of `space`, or for others (None): what members of a space have written
        stays theirs, for no space here allows links for everybody. So does a copy of a link for them."""
        writers = {by for word, by in talk.said if word and by not in (None, -1, talk.owner)}
        if talk.is_shared and talk.copied_of in (None, talk.space):
            return space is not None and space.pk == talk.space
        if talk.copied_of is None and not writers:
            return True
        home = talk.copied_of or talk.space
        readers = writers | ({talk.owner} if talk.copied_of else set())
        if home is None or not all(self.role(self.person(by), self.space(home)) for by in readers):
            return False
        return space is not None and space.pk == home

    def opens(self, person, link):
        owner = self.person(link.talk.owner)
        is_live = link.talk in self.talks and self.sees(owner, link.talk)
        if link.space is not None:
            is_live = is_live and link.space in self.spaces_of(owner)
        if person is None:
            return is_live and link.scope == "everybody"
        return is_live and (link.scope != "space" or link.space in self.spaces_of(person))

    def shared_with(self, spaces):
        """The words of the conversations that are shared with these spaces now."""
        return {word for talk in self.talks if talk.is_shared and talk.space in spaces for word in talk.words()}

    def remembered(self, person, spaces):
        """What a person's own memory and transcripts have, and those of these spaces."""
        private = [talk for talk in self.talks if talk.owner == person.pk and not talk.is_shared]
        mine = {word for talk in private for word in talk.words(person.pk)}
        held = {word for pk in (*spaces, self.own[person.pk].pk) for word in self.held[pk]}
        return mine | held | self.shared_with(spaces)

    def readable_by(self, person):
        return self.remembered(person, self.spaces_of(person))

    def readable_in(self, talk):
        """The words that a prompt of the conversation and its tools may bring."""
        if talk.is_shared:
            return self.held[talk.space] | self.shared_with({talk.space})
        owner = self.person(talk.owner)
        return self.remembered(owner, {talk.space} & self.spaces_of(owner))

    def shown_to(self, person):
        """The words that the pages of a person may show."""
        talks = [talk for talk in self.talks if self.sees(person, talk)]
        waits = {word for space in self.spaces_of(person) for word in self.proposed[space]}
        sent = {word for talk in talks if not talk.is_shared for word in talk.sent_before()}
        return self.readable_by(person) | waits | sent | {word for talk in talks for word in talk.words()}

    # Choices, words and rows.

    def did(self, act):
        """Return whether `act` was allowed."""
        try:
            act()
        except REFUSALS:
            return False
        return True

    def word(self):
        return "zq" + "".join(self.random.choices("abcdefghijklmnopqrstuvwxyz", k=6))

    def sentence(self, word):
        return f"The person of the day is called {word} by everybody here."

    def person(self, pk):
        return next(person for person in self.people if person.pk == pk)

    def space(self, pk):
        return next(space for space in self.spaces if space.pk == pk)

    def any_talk(self):
        return self.random.choice(self.talks)

    def every_talk(self):
        return {id(talk): talk for talk in (*self.talks, *(link.talk for link in self.links))}.values()

    def talk_and_writer(self):
        talk = self.any_talk()
        if not talk.is_shared:
            return talk, self.person(talk.owner)
        space = self.space(talk.space)
        return talk, self.random.choice([each for each in self.people if self.role(each, space) in WRITERS])
