"""An owner changes or removes a server while a conversation uses it."""

import json

import pytest

from chat import extensions
from chat.conversations.model_choice import Choice
from chat.extensions import Extension, Tool, ToolResult
from memory.documents.write import Append, Author, Source, apply
from oneclaw.llm.upstreams import servers
from oneclaw.models import ModelServer, Space, Spend
from oneclaw.threads import in_database
from tests.scripted import ScriptedModel, answer, overloaded, tool_use
from tests.talk import MODEL, Talk

pytestmark = pytest.mark.django_db(transaction=True)
FAR = "llama"
WORD = "zebraquince"


@pytest.fixture
def far(scripted, settings):
    """A further server of a row, with a model of its own."""
    settings.MODEL, settings.TITLES = MODEL, False
    settings.OUTGOING_NETWORKS = ["127.0.0.1"]
    with ScriptedModel() as model:
        row = ModelServer(name="far", url=model.url, offers=[{"model": FAR, "label": "Far"}])
        row.set_key("its key")
        row.save()
        servers.of_rows.forget()
        yield model


@pytest.fixture
def change():
    """Let the tool "change" carry out what the test appends, in the middle of a turn."""
    acts = []

    def run(call):
        acts.pop()()
        servers.of_rows.forget()
        return ToolResult("Done.", "Done.")

    extension = extensions.register(
        Extension("change", tools=[Tool("change", "Changes.", {"type": "object"}, run)], holds_memory=False)
    )
    yield acts
    extensions.unregister(extension)


async def test_a_turn_whose_server_is_removed_goes_on_with_the_default_model(ada, scripted, far, change):
    talk = Talk(ada, far)
    change.append(lambda: ModelServer.objects.all().delete())
    far.script(answer("Wait.", tool_use("change", {}, id="toolu_a")))
    scripted.script(answer("I go on."))
    answered = await talk.say("Hello", choice=Choice(model=FAR))
    assert (answered.text, answered.model, answered.meta["instead_of"]) == ("I go on.", MODEL, FAR)
    assert far.messages[0].headers["x-api-key"] == "its key"
    assert "its key" not in json.dumps([each.headers for each in scripted.messages])
    assert (len(far.messages), len(scripted.messages)) == (1, 1)


async def test_a_server_of_a_row_answers_in_place_of_an_overloaded_one_at_its_own_price(ada, scripted, far, client):
    offers = [{"model": "standby", "price": "4/20", "instead_of": [MODEL]}]
    await in_database(ModelServer.objects.update, offers=offers)
    talk = Talk(ada, scripted)
    scripted.script(overloaded())
    far.script(answer("I stand in."))
    answered = await talk.say("Hello")
    assert (answered.text, answered.model, answered.meta["upstream"]) == ("I stand in.", "standby", "far")
    await in_database(client.force_login, ada)
    page = await in_database(client.get, f"/messages/{answered.pk}/details")
    assert "(far)" in page.content.decode()
    # Another price does not change what was spent.
    await in_database(ModelServer.objects.update, offers=[{"model": "standby", "price": "5/50"}])
    servers.of_rows.forget()
    assert [int(spend.price[1]) for spend in await in_database(list, Spend.objects.all())] == [20]


async def test_from_the_moment_that_memory_stays_home_a_running_turn_sends_none(ada, scripted, far, change):
    own = await in_database(Space.objects.own_of, ada)
    await in_database(apply, own, "MEMORY.md", Append(f"- Ada likes {WORD}."), Author(Source.PAGE, ada))
    talk = Talk(ada, far)
    change.append(lambda: ModelServer.objects.update(memory_stays_home=True))
    far.script(answer("Wait.", tool_use("change", {}, id="toolu_a")), answer("I know nothing."))
    answered = await talk.say("Hello", choice=Choice(model=FAR))
    assert (answered.text, answered.meta.get("without_memory")) == ("I know nothing.", True)
    assert [WORD in json.dumps(each.body) for each in far.messages] == [True, False]
