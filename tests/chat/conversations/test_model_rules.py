"""Some models are for the members of some groups: others are not offered them, and go on with the default one."""

import json
import uuid

import pytest
from django.test import Client

from chat.conversations import agents, model_choice
from chat.conversations.model_choice import Choice, MayNotUseModelError
from chat.live.publisher import TurnPublisher
from chat.models import Agent, ChatSession, Schedule, default_agent
from chat.schedules.ask import hidden_session
from chat.turns import rounds, start
from oneclaw import llm
from oneclaw.config.upstreams import Upstream
from oneclaw.llm.upstreams import access
from oneclaw.models import AuditEvent, AuditKind, Group, Spend
from oneclaw.spend.calls import Payer, Spending
from oneclaw.team import model_rules
from oneclaw.text import InvalidTextError
from oneclaw.threads import in_database
from tests.chat.live.test_socket import Client as Socket
from tests.chat.shared.cast import shared_conversation
from tests.programs import refusal
from tests.scripted import ScriptedModel, answer, overloaded, text, tool_use
from tests.sub_sessions import turn_on_session_tools
from tests.talk import Talk

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("session_tools")]


@pytest.fixture
def group(ada):
    """A group of Ada's. What a person may use is read anew."""
    group = Group.objects.create(name="Research")
    group.members.create(user=ada)
    access.known_rules.forget()
    return group


@pytest.fixture
def limited(scripted, settings, group, admin_person):
    """A model that only the group may use; the default is another one."""
    settings.MODEL, settings.MODELS = "usual", {"usual": "Usual", "great": "Great"}
    model_rules.change(admin_person, "", "great", [group])
    return "great"


def leave(group):
    group.members.all().delete()
    access.known_rules.forget()


def test_the_menu_and_the_api_offer_a_person_what_they_may_use(ada, stranger, adas, strangers, limited, client):
    for person, keyed, is_offered in ((ada, adas, True), (stranger, strangers, False)):
        assert (limited in model_choice.models_for(person.pk)) == is_offered
        assert (limited in json.dumps(keyed.get("/models").json())) == is_offered
        client.force_login(person)
        assert ('value="great"' in client.get("/").content.decode()) == is_offered


async def test_a_message_with_a_model_of_others_is_refused_with_a_sentence(stranger, strangers, limited):
    session = uuid.uuid4()
    with pytest.raises(MayNotUseModelError, match="You may not use this model"):
        await start.send(stranger, session, uuid.uuid4(), "Hello", listen=TurnPublisher, choice=Choice(model=limited))
    about = {"client_id": str(uuid.uuid4()), "text": "Hello", "model": limited}
    refused = await in_database(lambda: strangers.post("/messages", **about))
    assert refusal(refused)[1] == "not_offered"


async def test_who_loses_a_model_goes_on_with_the_default_and_is_told(ada, scripted, limited, group):
    talk = Talk(ada, scripted)
    assert (await talk.say("One", choice=Choice(model=limited))).model == limited
    await in_database(leave, group)
    # The page names the model that was chosen before.
    answered = await talk.say("Two", choice=Choice(model=limited))
    assert (answered.model, answered.meta["instead_of"]) == ("usual", "Great")
    client = Client()
    await in_database(client.force_login, ada)
    page = await in_database(client.get, f"/c/{talk.session_id}")
    assert "Great is not available to you, so Usual has answered." in page.content.decode()


async def test_the_others_read_that_the_model_is_not_available_to_who_asked(ada, scripted, limited):
    cast = await in_database(shared_conversation, ada)
    # Ada may use it, and Ed, whose page names it, may not.
    async with Socket(cast.ed) as ed, Socket(ada) as owner:
        for each in (ed, owner):
            await each.open(cast.session.pk, last_seq=2)
        await in_database(lambda: ChatSession.objects.filter(pk=cast.session.pk).update(model=limited))
        scripted.script(answer(text("Hello, Ed.")))
        await ed.ask(cast.session.pk, "Hello")
        await owner.hear("done", final=True)
        heard = [frame["html"] for frame in owner.seen if frame["type"] == "message"]
    client = Client()
    await in_database(client.force_login, ada)
    page = await in_database(client.get, f"/c/{cast.session.pk}")
    for shown in (heard[-1], page.content.decode()):
        assert "Great is not available to the person who asked, so Usual has answered." in shown
        assert "available to you" not in shown


def test_agents_and_schedules_use_what_their_person_may(ada, stranger, limited):
    everybodys = Agent.objects.create(slug="everybodys", name="Everybody's", model=limited)
    for person, model in ((ada, limited), (stranger, "usual")):
        assert model_choice.model_of(ChatSession(owner=person, agent=everybodys)) == model
        own = Agent.objects.create(slug=f"of-{person.pk}", owner=person, name="Own", model=limited)
        assert model_choice.model_of(hidden_session(Schedule(owner=person, agent=own))) == model
    with pytest.raises(InvalidTextError):
        agents.checked_draft("Mine", "", limited, [], "", models=model_choice.models_for(stranger.pk))


async def test_a_sub_session_gets_no_model_that_its_person_may_not_use(stranger, scripted, limited):
    await in_database(turn_on_session_tools, stranger)
    talk = Talk(stranger, scripted)
    scripted.script(answer(tool_use("sessions_spawn", {"task": "Count.", "model": limited})), answer("I cannot."))
    await talk.say("Have somebody count.")
    assert "There is no model" in json.dumps(talk.sent["messages"][-1])


def test_in_a_shared_conversation_the_rights_of_who_asks_count(ada, stranger, limited):
    session = ChatSession(owner=ada, agent=default_agent(), model=limited)
    assert model_choice.model_of(session) == limited
    assert model_choice.model_of(session, stranger.pk) == "usual"
    assert model_choice.wanted_model(session, stranger.pk) == limited


async def test_a_limited_server_stands_in_for_nobody_else(ada, stranger, scripted, limited, group, settings):
    with ScriptedModel() as second:
        settings.UPSTREAMS = (Upstream("second", second.url, models=("usual",)),)
        await in_database(model_rules.change, ada, "second", "", [group])
        request = llm.Request("usual", [], [{"role": "user", "content": "Hello?"}])
        for person, count in ((ada, 1), (stranger, 1)):
            scripted.script(overloaded())
            await llm.complete(request, Spending(Payer(Spend.Purpose.ANSWER, person.pk)))
            assert len(second.messages) == count


def test_a_deleted_group_opens_nothing_and_each_change_is_recorded(ada, limited, group, admin_person):
    number = group.pk
    assert llm.may_use(ada.pk, limited)
    group.delete()
    access.known_rules.forget()
    assert not llm.may_use(ada.pk, limited)
    model_rules.change(admin_person, "", limited, None)
    assert llm.may_use(ada.pk, limited)
    recorded = AuditEvent.objects.filter(kind=AuditKind.SETTING_CHANGED).order_by("pk")
    assert [(each.actor, each.details) for each in recorded] == [
        (admin_person.pk, {"server": "", "model": limited, "groups": groups}) for groups in ([number], "everybody")
    ]


async def test_rules_that_are_read_anew_in_the_middle_of_a_turn_do_not_end_it(ada, scripted, limited, monkeypatch):
    set_answer_meta = rounds.set_answer_meta

    def forgotten_before(*arguments):
        access.known_rules.forget()
        set_answer_meta(*arguments)

    monkeypatch.setattr(rounds, "set_answer_meta", forgotten_before)
    said = await Talk(ada, scripted).say("Hello", choice=Choice(model=limited))
    assert (said.status, said.model) == ("complete", limited)
