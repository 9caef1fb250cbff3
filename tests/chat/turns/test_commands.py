"""A command that calls a tool: at once, once, and without asking the model."""

import uuid

import pytest

from chat.conversations import transcript
from chat.models import Message
from chat.turns import commands
from memory.models import MemoryDocument
from oneclaw.models import User
from oneclaw.threads import in_database

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.mark.parametrize(
    ("text", "argument"),
    [
        ("/remember I like tea", "I like tea"),
        (" /Remember\nI like tea,\nand coffee. ", "I like tea,\nand coffee."),
        ("/remember", None),
        ("/remember   ", None),
        ("/rememberance of things past", None),
        ("please /remember this", None),
        ("/unknown thing", None),
        ("/new thing", None),
    ],
)
def test_what_is_a_command(text, argument):
    called = commands.parse_call(text)
    assert (called[1] if called else None) == argument


async def sent(async_client, text, *, times=1, **fields):
    """Post it, wait for the end of its turn; the messages then."""
    from chat.models import Turn
    from chat.turns.running import running_turns

    session, client_id = uuid.uuid4(), uuid.uuid4()
    for _ in range(times):
        answer = await async_client.post(f"/c/{session}/send", {"client_id": client_id, "text": text, **fields})
        assert answer.status_code == 302
        for running in list(running_turns):
            await running.task
    turn = await in_database(Turn.objects.get)
    assert turn.status == "complete"
    return await in_database(lambda: list(Message.objects.order_by("seq")))


@pytest.fixture
def documents():
    return lambda: in_database(lambda: list(MemoryDocument.objects.values_list("path", "content")))


async def test_remember_saves_at_once_and_asks_no_model(transactional_db, async_client, scripted, documents, settings):
    settings.TITLES = settings.CONTRADICTIONS = False
    grace = await in_database(User.objects.create_user, "grace@example.org", "a long password")
    await async_client.aforce_login(grace)
    messages = await sent(async_client, "/remember I like tea", times=2)
    assert [message.role for message in messages] == ["user", "assistant", "tool", "assistant"]
    assert messages[1].content[0]["input"] == {"content": "I like tea"}
    assert 'data-tool="command_' in messages[1].html
    assert "Saved to memory" in messages[1].html
    assert messages[3].text == "I will remember that."
    assert await documents() == [("MEMORY.md", "- I like tea\n")]
    assert scripted.requests == []


async def test_what_cannot_be_saved_is_said(transactional_db, async_client, scripted, documents, settings):
    settings.TITLES = False
    grace = await in_database(User.objects.create_user, "grace@example.org", "a long password")
    await async_client.aforce_login(grace)
    messages = await sent(async_client, "/remember " + "x" * 5001)
    assert messages[2].meta["cards"].popitem()[1]["summary"] == {"code": "memory.too_long", "params": {"most": 5000}}
    assert "5,000 characters" not in messages[1].html
    page = await async_client.get(f"/c/{messages[1].session_id}")
    assert "At most 5,000 characters can be saved at once." in page.content.decode()
    assert messages[3].text == "That did not work."
    assert await documents() == []


async def test_where_memory_is_not_written_it_is_an_ordinary_message(
    transactional_db, async_client, scripted, documents, settings
):
    settings.TITLES = False
    grace = await in_database(User.objects.create_user, "grace@example.org", "a long password")
    await async_client.aforce_login(grace)
    messages = await sent(async_client, "/remember I like tea", use="chat:all")
    assert [message.role for message in messages] == ["user", "assistant"]
    assert len(scripted.requests) == 1
    assert await documents() == []


def test_the_conversation_goes_on_with_what_was_done(ada, settings):
    """The request after a command holds the call and its result, in an order that the API takes."""
    from chat.context import prompt
    from tests.conversations import settle

    accepted = transcript.accept(ada, uuid.uuid4(), uuid.uuid4(), "/remember I like tea")
    call = commands.reply_to(accepted.turn)[1].block
    results = transcript.finish_round(accepted.turn, accepted.answer, [call])
    content = [{"type": "tool_result", "tool_use_id": call["id"], "content": "{}"}]
    answer = transcript.finish_tools(accepted.turn, accepted.answer, results, content, {})
    reply = commands.reply_to(accepted.turn)
    transcript.finish_turn(accepted.turn, answer, [reply[-2].block], "complete")
    again = transcript.accept(ada, accepted.message.session_id, uuid.uuid4(), "Thanks")
    said = prompt.build_request(again.turn).messages
    assert [message["role"] for message in said] == ["user", "assistant", "user", "assistant", "user"]
    assert said[2]["content"][0]["tool_use_id"] == said[1]["content"][0]["id"]
    assert settle(again).status == "complete"
