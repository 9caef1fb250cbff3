"""Whatever five people do with memberships, conversations, links, proposals and forgetting: nothing is shown, searched,
sent to a model or written to the disk beyond a small model's rule at that moment (tests/memory/spaces/world.py).

    ANY_HISTORY_SEEDS=100-200 .venv/bin/python -m pytest tests/memory/spaces/test_any_history.py -k longer
"""

import json
import os

import pytest
from django.conf import settings as current

from chat.extensions import ToolCall, ToolError
from chat.models import Message
from memory.access.load import access_of
from memory.access.programs import ProgramAccess
from memory.files.folders import folder_of
from memory.files.mirror import try_to_mirror
from memory.index.documents import index_document
from memory.invariants import INVARIANTS
from memory.models import MemoryDocument
from memory.prompt.recall import recalled_items, recalled_text, workspace_items, workspace_section
from memory.search.manager import HybridSearchManager
from memory.tools.get import GET
from memory.tools.reading import SEARCH
from memory.views.palette import search as palette
from oneclaw.models import ApiKey
from oneclaw.people.programs.grants import Grant
from tests.memory.spaces.world import World, words_in
from tests.scripted import ScriptedModel
from tests.strict_api.api import StrictApi

# Steps of one history and of a longer one, and after how many of them everything is compared.
STEPS, LONGER_STEPS, COMPARED_EVERY = 60, 120, 6
# Every sentence has these words, so that a question that names no word finds each of them.
ASKED = "Who is called the person of the day?"
# Pages and operations that ask for nothing, for a conversation, for a space, and for a document.
PAGES = ("", "sessions", "conversations", "search?q=person", "spaces/", "shared", "memory/", "memory/inbox/", "news")
PAGES += ("memory/search?q=person", "memory/files", "memory/propose", "memory/past")
OF_TALK = (
    "",
    "/messages?after=0",
    "/context",
    "/context.json",
    "/menu",
    "/viewers",
    "/share-with",
    "/space",
    "/rounds",
)
OF_SPACE = ("", "members", "memory", "viewers", "instructions")
OF_DOCUMENT = ("", "viewers", "versions/1")
OF_MESSAGE = ("details", "raw", "context", "memories")
API = ("sessions", "links", "documents", "spaces", "search?q=person", "suggestions")
API_OF_TALK = ("", "/messages", "/context", "/rounds")
API_OF_SPACE = ("", "/members", "/proposals")


class Looks:
    """What can be read of a world, compared with its rule."""

    def __init__(self, world):
        self.world, self.random = world, world.random

    def compare(self):
        for document in MemoryDocument.objects.to_index():
            index_document(document.pk)
        for document in MemoryDocument.objects.to_mirror():
            try_to_mirror(document.pk)
        self.disk()
        person = self.random.choice(self.world.people)
        self.search(person)
        for look in (self.pages, self.of_talk, self.of_space, self.of_document, self.of_message, self.programs):
            look(person)
        self.link(self.random.choice((*self.world.people, None)))
        self.prompt(self.world.any_talk())

    def within(self, where, text, allowed):
        beyond = words_in(text) - allowed
        assert not beyond, f"{where}: {beyond}"

    # The disk.

    def disk(self):
        world, found = self.world, {}
        for space in (*world.spaces, *world.own.values()):
            found[folder_of(space)] = space
        for file in current.WORKSPACES.rglob("*"):
            if file.is_file():
                (space,) = (space for folder, space in found.items() if file.is_relative_to(folder))
                self.within(f"{file} of {space}", file.read_text(), world.held[space.pk])

    # What a person is shown.

    def search(self, person):
        allowed = self.world.readable_by(person)
        access = ProgramAccess.of(Grant.of(ApiKey(user=person)))
        manager = HybridSearchManager(access.spaces, access.sources(access.spaces))
        found = manager.search(ASKED, max_results=60, min_score=0)
        self.within(f"search of {person}", "\n".join(each.snippet for each in found), allowed)
        self.within(f"palette of {person}", str(palette(person, ["person"], 60)), self.world.shown_to(person))
        visible = MemoryDocument.objects.visible_to(person).values_list("content", flat=True)
        self.within(f"documents of {person}", "\n".join(visible), allowed)

    def shows(self, person, address, may=None):
        """Compare what `person` reads at `address`; `may` is whether there is anything for them."""
        response = self.world.browsers[person.pk].get(address)
        assert may is None or (response.status_code < 400) == may, f"{address} for {person}: {response.status_code}"
        text = response.content.decode() if not response.streaming else ""
        self.within(f"{address} for {person}", text, self.world.shown_to(person))

    def pages(self, person):
        for page in self.random.sample(PAGES, 2):
            self.shows(person, f"/{page}")

    def of_talk(self, person):
        talk = self.world.any_talk()
        self.shows(person, f"/c/{talk.pk}", self.world.sees(person, talk))
        part = self.random.choice(OF_TALK[1:])
        self.shows(person, f"/c/{talk.pk}{part}", None if self.world.sees(person, talk) else False)

    def of_space(self, person):
        space = self.random.choice(self.world.spaces)
        self.shows(
            person, f"/spaces/{space.pk}/{self.random.choice(OF_SPACE)}", space.pk in self.world.spaces_of(person)
        )

    def of_document(self, person):
        documents = list(MemoryDocument.objects.order_by("pk"))
        if not documents:
            return
        document = self.random.choice(documents)
        spaces = {*self.world.spaces_of(person), self.world.own[person.pk].pk}
        part = self.random.choice(OF_DOCUMENT)
        self.shows(person, f"/memory/{document.pk}/{part}", None if document.space_id in spaces else False)

    def of_message(self, person):
        talk = self.world.any_talk()
        message = self.random.choice(list(Message.objects.filter(session=talk.pk).order_by("seq")))
        part = self.random.choice(OF_MESSAGE)
        self.shows(person, f"/messages/{message.pk}/{part}", None if self.world.sees(person, talk) else False)

    def programs(self, person):
        talk, space = self.world.any_talk(), self.random.choice(self.world.spaces)
        for path, may in (
            (f"/{self.random.choice(API)}", None),
            (f"/sessions/{talk.pk}{self.random.choice(API_OF_TALK)}", self.world.sees(person, talk)),
            (f"/spaces/{space.pk}{self.random.choice(API_OF_SPACE)}", space.pk in self.world.spaces_of(person)),
        ):
            response = self.world.programs[person.pk].get(path)
            assert may is None or (response.status_code < 400) == may, f"{path} for {person}: {response.status_code}"
            self.within(f"{path} for {person}", response.content.decode(), self.world.shown_to(person))

    def link(self, person):
        if not self.world.links:
            return
        link = self.random.choice(self.world.links)
        response = self.world.browsers[person and person.pk].get(link.address)
        opens = self.world.opens(person, link)
        assert (response.status_code == 200) == opens, f"{link} for {person}: {response.status_code}"
        allowed = set(link.words) if opens else set()
        if person is not None:
            # Who is signed in sees their list beside it, too.
            allowed |= self.world.shown_to(person)
        self.within(f"{link} for {person}", response.content.decode(), allowed)

    # What a model is sent.

    def prompt(self, talk):
        world, session = self.world, talk.row
        asker = self.random.choice(world.people) if talk.is_shared else session.owner
        may = world.sees(asker, talk)
        assert access_of(session, asker).may_ask == may
        allowed = world.readable_in(talk) if may else set()
        message = Message(session=session, seq=session.last_seq + 1, role="user", text=ASKED, author=asker)
        texts = [recalled_text(recalled_items(access_of(session, asker), message))]
        if may:
            texts.append(workspace_section(session, workspace_items(session)))
        other = world.any_talk()
        for tool, arguments in (
            (SEARCH, {"query": ASKED, "min_score": 0, "max_results": 60}),
            (GET, {"path": "MEMORY.md"}),
            (GET, {"path": f"spaces/{self.random.choice([*world.spaces, *world.own.values()]).pk}/MEMORY.md"}),
            (GET, {"path": f"/c/{other.pk}"}),
        ):
            try:
                called = ToolCall("toolu_1", tool.name, arguments, asker, session)
                texts.append(json.dumps(tool.call(called).content))
            except ToolError as error:
                texts.append(error.message)
        self.within(f"prompt of {talk} by {asker}", "\n".join(texts), allowed)


@pytest.fixture
def model(settings, scripted):
    """A server that checks requests as strictly as the provider's, and keeps them."""
    with ScriptedModel(api=StrictApi()) as strict:
        settings.ANTHROPIC_BASE_URL = strict.url
        yield strict


def live_through(seed, model, steps=STEPS):
    world, done = World(seed, model), []
    looks = Looks(world)
    try:
        for number in range(steps):
            done.append(world.step())
            if number % COMPARED_EVERY == 0:
                looks.compare()
    except BaseException as error:
        error.add_note(f"Seed {seed}, after {done}")
        raise
    # The rule says no less than there is to see.
    for space in world.spaces:
        contents = space.documents.present().values_list("content", flat=True)
        assert words_in("\n".join(contents)) == world.held[space.pk]
    broken = [sentence for each in INVARIANTS for sentence in each.violations()]
    assert broken == []
    return world


@pytest.mark.parametrize("seed", range(2))
def test_nothing_gets_further_than_the_rule_says(seed, db, model, settings):
    settings.CONTRADICTIONS = False
    world = live_through(seed, model)
    assert sum(len(world.held[space.pk]) for space in world.spaces) > 2, dict(world.held)


def seeds():
    first, _, last = os.environ.get("ANY_HISTORY_SEEDS", "100-101").partition("-")
    return range(int(first), int(last or first) + 1)


@pytest.mark.soak
@pytest.mark.timeout(300)
@pytest.mark.parametrize("seed", seeds())
def test_nothing_does_in_longer_histories(seed, db, model, settings):
    settings.CONTRADICTIONS = False
    live_through(seed, model, LONGER_STEPS)
