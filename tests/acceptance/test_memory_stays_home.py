"""Words of every kind of memory never reach a server that must not be sent memory, whatever a person does."""

import json
import random
import uuid

import pytest
from django.test import AsyncClient

from chat.answering import answers_without_memory
from chat.attachments import chosen
from chat.compaction import make, planning
from chat.context import heads
from chat.context.prompt import build_request
from chat.conversations import forking, titles
from chat.conversations.model_choice import Choice
from chat.extensions import PickingScope
from chat.models import ChatSession, Message, Turn, default_agent
from chat.session_tools import limits
from chat.turns.tools import call_tool
from memory.documents.write import Append, Author, Source, apply
from memory.library import files as library
from memory.library import reading
from memory.notes import flush
from oneclaw import llm
from oneclaw.config.upstreams import read_upstreams
from oneclaw.llm.upstreams import access, servers
from oneclaw.models import Group, ModelRule, ModelServer, Space
from oneclaw.threads import in_database
from tests.chat.shared.cast import shared_conversation
from tests.conversations import send, settle
from tests.scripted import ScriptedModel, answer, overloaded, tool_use
from tests.skills import own_skill
from tests.spending import NOBODY, Spending
from tests.summaries import summarised
from tests.talk import MODEL, Talk

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("session_tools")]

FAR = "far"
PLACES = ("curated", "daily", "recent", "instructions", "library", "skill", "earlier", "said", "command", "relayed")
PLANTED = {place: f"zebra{place}quince" for place in PLACES}
SEARCH = {"query": "Where is the zebra quince?"}
ACTS_COUNT = 9


def planted_in(body):
    """Return the places whose words are in the body of a request."""
    found = json.dumps(body)
    return {place for place, word in PLANTED.items() if word in found}


def plant(ada):
    """Write a word of its own into each kind of memory. Return the file of the library."""
    space = Space.objects.own_of(ada)
    for place, path in {
        "curated": "MEMORY.md",
        "daily": "memory/2026-11-20.md",
        "recent": "Recent Conversations.md",
        "instructions": "USER.md",
    }.items():
        apply(space, path, Append(f"- The zebra quince is {PLANTED[place]}."), Author(Source.PAGE, ada))
    version = library.add(space, ada, "zebra.txt", f"The zebra quince is {PLANTED['library']}.".encode())
    reading.run(version.pk)
    own_skill(ada, "zebra-quince", description=f"Says {PLANTED['skill']}.", body=PLANTED["skill"])
    return version.file


class Traveller(Talk):
    """A person who changes between a model that knows their memory and one that does not."""

    def __init__(self, user, home, far, chance):
        super().__init__(user, home)
        self.far, self.random, self.done = far, chance, []

    async def do(self, name):
        self.done.append(name)
        await getattr(self, name)()

    async def ask_home(self):
        await self.say("Where is the zebra quince?", choice=Choice(model=MODEL))

    async def ask_far(self):
        answered = await self.say("What is two and two?", choice=Choice(model=FAR))
        assert (answered.meta["upstream"], answered.meta["without_memory"]) == ("away", True)

    async def call_tools_at_home(self):
        calls = {
            "memory_search": SEARCH,
            "memory_get": {"path": "memory/2026-11-20.md"},
            "documents_search": SEARCH,
            "skill_read": {"skill": "zebra-quince"},
            "save_memory": {"content": f"The zebra is {uuid.uuid4()}."},
            "sessions_list": {},
            "sessions_spawn": {"task": PLANTED["relayed"], "model": FAR},
            "sessions_send": {"session": str(await in_database(self.another)), "text": PLANTED["relayed"]},
        }
        chosen = self.random.sample(sorted(calls), 3)
        self.scripted.script(answer(*(tool_use(name, calls[name], id=f"toolu_{uuid.uuid4().hex}") for name in chosen)))
        await self.ask_home()

    async def call_a_tool_of_memory_far_away(self):
        self.far.script(answer(tool_use("memory_search", SEARCH, id=f"toolu_{uuid.uuid4().hex}")))
        await self.ask_far()

    def another(self):
        others = ChatSession.objects.filter(owner=self.user, kind="").exclude(pk=self.session_id)
        return others.values_list("pk", flat=True).order_by("?").first() or uuid.uuid4()

    async def be_overloaded_at_home(self):
        self.scripted.script(overloaded())
        await self.ask_home()

    async def command(self):
        await self.say(f"/remember The command is {PLANTED['command']}.")

    async def answer_again(self):
        await self.repeat(Turn.Kind.RETRY)

    async def begin_anew(self):
        self.session_id = uuid.uuid4()
        await self.ask_far()

    async def fork(self):
        last = await in_database(lambda: self.messages().filter(role="user").last())
        self.session_id = (await in_database(forking.fork, self.user, last.pk)).pk
        await self.ask_far()

    async def summarise(self):
        def made():
            try:
                asked = planning.ask(self.session)
            except planning.NothingToCompactError:
                return
            make.run(asked.pk, is_urgent=True)

        await in_database(made)
        await self.ask_far()

    async def take_notes(self):
        def taken():
            if asked := flush.request(self.session, "switched"):
                flush.run(asked.pk)
            titles.name_session(self.session_id)

        await in_database(taken)
        await self.ask_far()


@pytest.fixture
def away(request, scripted, settings, tmp_path):
    """A server that must not be sent memory; it has a model of its own, and both models of the first one. It is in the
    file of ONECLAW_UPSTREAMS, or in a row."""
    with ScriptedModel() as server:
        models = {FAR: {"label": "Far away"}, MODEL: {}, "standby": {"instead_of": [settings.FAST_MODEL, MODEL]}}
        settings.MODEL = MODEL
        settings.OUTGOING_NETWORKS = ["127.0.0.1"]
        if getattr(request, "param", "file") == "row":
            offers = [{"model": model, **about} for model, about in models.items()]
            ModelServer.objects.create(name="away", url=server.url, offers=offers, memory_stays_home=True)
            servers.of_rows.forget()
        else:
            path = tmp_path / "upstreams.json"
            path.write_text(json.dumps({"away": {"url": server.url, "memory_stays_home": True, "models": models}}))
            settings.UPSTREAMS = read_upstreams(str(path))
        yield server


@pytest.mark.parametrize(("seed", "away"), [(0, "file"), (1, "row")], indirect=["away"])
async def test_words_of_a_memory_never_get_there(ada, scripted, away, seed, monkeypatch):
    monkeypatch.setattr(limits, "RELAYED_MAX_COUNT", 100)
    monkeypatch.setattr("oneclaw.llm.client.RETRY_FIRST_SECONDS", 0.01)
    await in_database(plant, ada)
    # A model repeats what it has read, in its answers, titles, notes and summaries.
    scripted.default = lambda body: answer(" ".join(["Known:", PLANTED["said"], *map(PLANTED.get, planted_in(body))]))
    traveller = Traveller(ada, scripted, away, random.Random(seed))
    await traveller.say(f"An earlier conversation: {PLANTED['earlier']}.", choice=Choice(model=MODEL))
    traveller.session_id = uuid.uuid4()
    acts = [name for name in vars(Traveller) if not name.startswith("_") and name not in ("do", "another")]
    for name in ["ask_home", "call_tools_at_home", *traveller.random.choices(acts, k=ACTS_COUNT), "ask_far"]:
        await traveller.do(name)
    assert [(planted_in(each.body), traveller.done) for each in away.messages if planted_in(each.body)] == []
    assert len(away.messages) > 1
    assert llm.answers_without_memory(FAR)
    assert {"curated", "instructions"} <= set.union(*(planted_in(each.body) for each in scripted.messages))
    # What the first server could not do was not done there.
    asked = {each.body["model"] for each in away.messages}
    assert asked == {FAR}


async def test_a_tool_of_memory_that_a_model_calls_there_is_answered_as_unknown(ada, scripted, away):
    await in_database(plant, ada)
    talk = Talk(ada, away)
    look = [
        tool_use("memory_search", SEARCH, id="toolu_a"),
        tool_use("memory_get", {"path": "MEMORY.md"}, id="toolu_b"),
    ]
    away.script(answer("I look it up.", *look), answer("I cannot look it up."))
    answered = await talk.say("Where is the zebra quince?", choice=Choice(model=FAR))
    assert answered.text == "I cannot look it up."
    [_asked, called, refused] = talk.sent["messages"]
    assert [block["type"] for block in called["content"]] == ["text", "tool_use", "tool_use"]
    assert [block["is_error"] for block in refused["content"]] == [True, True]
    assert all("There is no tool" in block["content"] for block in refused["content"])
    assert planted_in(talk.sent) == set()
    # And what a command has called stays unsent.
    await talk.say(f"/remember The command is {PLANTED['command']}.")
    await talk.say("And now?")
    assert planted_in(talk.sent) == set()
    assert "command_" not in json.dumps(talk.sent)


async def test_such_a_model_knows_the_conversation_that_it_has_led(ada, scripted, away):
    talk = Talk(ada, away)
    away.script(answer("Four, says the abacus."))
    await talk.say("What is two and two?", choice=Choice(model=FAR))
    await talk.say("And who said so?")
    assert "Four, says the abacus." in json.dumps(talk.sent)
    scripted.script(answer("Five, says the crystal ball."))
    await talk.say("What does another one say?", choice=Choice(model=MODEL))
    assert "Four, says the abacus." in json.dumps(scripted.messages[-1].body)
    await talk.say("And now?", choice=Choice(model=FAR))
    sent = json.dumps(talk.sent)
    assert "Four, says the abacus." in sent
    assert "crystal ball" not in sent
    assert "What does another one say?" in sent


async def test_a_summary_is_sent_there_only_if_nothing_in_it_was_made_with_memory(ada, scripted, away):
    talk = Talk(ada, away)
    for number in range(4):
        await talk.say(f"Question {number}. " + "Words. " * 300, choice=Choice(model=FAR))
    await in_database(lambda: summarised(talk.session))
    await talk.say("And now?")
    assert "Question 0" in json.dumps(talk.sent)
    first = await in_database(lambda: talk.messages().filter(role="assistant").first())
    await in_database(lambda: Message.objects.filter(pk=first.pk).update(meta={}))
    await talk.say("And then?")
    assert "Question 0" not in json.dumps(talk.sent)
    assert "Question 3" in json.dumps(talk.sent)


async def test_a_summary_of_a_message_with_a_command_of_memory_is_not_sent_there(ada, away):
    talk = Talk(ada, away)
    await talk.say("Hi.\n/remember my number is 1234", choice=Choice(model=FAR))
    for number in range(3):
        await talk.say(f"Question {number}. " + "Words. " * 300)
    made = await in_database(lambda: summarised(talk.session))
    assert "1234" in made.text
    await talk.say("And now?")
    assert "1234" not in json.dumps(talk.sent)
    assert "The messages before this one are not shown to you." in json.dumps(talk.sent)


async def test_a_document_that_was_added_is_named_there_as_not_sent(ada, scripted, away):
    file = await in_database(plant, ada)
    talk = Talk(ada, away)
    browser = AsyncClient()
    await browser.aforce_login(ada)
    dialog = await browser.get(f"/c/{talk.session_id}/documents")
    assert "Models that answer without memory are not sent documents." in dialog.content.decode()
    for choice in (Choice(model=MODEL), Choice(model=FAR)):
        picked = await in_database(chosen.choose, PickingScope(ada, talk.session_id, None, None), f"memory:{file.pk}")
        await talk.say("What does it say?", files=[picked.pk], choice=choice)
    sent = json.dumps(talk.sent["messages"])
    assert sent.count("[The document zebra.txt is not sent to this model.]") == 2
    assert "stands before" not in sent
    await talk.say("And at home?", choice=Choice(model=MODEL))
    sent = json.dumps(scripted.messages[-1].body["messages"])
    assert (sent.count("is not sent to this model"), sent.count("stands before")) == (1, 1)
    assert sent.count(PLANTED["library"]) == 1


def test_a_head_is_whole_with_memory_or_without_when_a_rule_changes_while_it_is_made(ada, away, monkeypatch):
    plant(ada)
    ModelRule.objects.create(model=FAR)
    access.known_rules.forget()
    session = ChatSession.objects.create(owner=ada, agent=default_agent(), model=FAR)
    assert not answers_without_memory(session)
    section_texts, made = heads.section_texts, []

    def then_changed(*args):
        made.append(section_texts(*args))
        ModelRule.objects.all().delete()
        access.known_rules.forget()
        return made[-1]

    monkeypatch.setattr(heads, "section_texts", then_changed)
    head = heads.make_head(session)
    assert PLANTED["curated"] in str(made[0])
    assert (heads.holds_memory(head), planted_in([head.system, head.tools])) == (False, set())
    assert heads.head_of(session) is head


def test_in_a_shared_conversation_the_model_of_who_asks_decides(ada, away):
    cast = shared_conversation(ada)
    rule, group = ModelRule.objects.create(model=FAR), Group.objects.create(name="Research")
    rule.groups.add(group)
    group.members.create(user=ada)
    access.known_rules.forget()
    ChatSession.objects.filter(pk=cast.session.pk).update(model=FAR)
    use = {"type": "tool_use", "id": "toolu_1", "name": "memory_search", "input": SEARCH}
    for person, model in ((ada, FAR), (cast.ed, MODEL), (ada, FAR)):
        accepted = send(person, "Hello", cast.session.pk)
        request = build_request(accepted.turn)
        assert (request.model, request.holds_memory) == (model, model == MODEL)
        assert ("memory_search" in [tool["name"] for tool in request.tools]) == request.holds_memory
        assert ("memory_search" in request.system[0]["text"]) == request.holds_memory
        head = accepted.turn.session.head
        assert heads.head_of(accepted.turn.session, accepted.turn.asked_by_id) == head
        result, _ = call_tool(accepted.turn, accepted.answer, use, "")
        assert ("unknown_tool" in result["content"]) != request.holds_memory
        settle(accepted, "Hello.")


async def test_a_request_that_may_hold_memory_is_refused_before_anything_is_sent(scripted, away):
    said = [{"role": "user", "content": "Hello?"}]
    with pytest.raises(llm.MemoryStaysHomeError):
        await llm.complete(llm.Request(FAR, [], said), Spending(NOBODY))
    with pytest.raises(llm.MemoryStaysHomeError):
        await llm.count_tokens(llm.Request(FAR, [], said))
    assert away.requests == []
    await llm.complete(llm.Request(FAR, [], said, holds_memory=False), Spending(NOBODY))
    assert len(away.messages) == 1
