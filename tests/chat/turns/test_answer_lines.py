"""Memory has its quiet line under an answer: made when the answer ends, opened on click."""

import pytest

from chat import extensions
from chat.extensions import (
    MEMORY_NAME,
    ContextItem,
    Extension,
    MessageContext,
    NoMemory,
    Tool,
    ToolResult,
    WordedLine,
)
from chat.models import Message
from chat.rendering.answer_lines import ANSWER_LINES_KEY, CARD_IN_VIEW_MAX_CHARS, answer_lines
from chat.turns.answer_lines import finished_answer
from memory.extension import MEMORY
from oneclaw.threads import in_database
from tests import scripted as model
from tests.talk import Talk

pytestmark = pytest.mark.django_db(transaction=True)

ROLL = Tool(
    "roll_dice", "Rolls.", {"type": "object"}, lambda call: ToolResult({"rolled": 4}, "Four.", kept={"by": "me"})
)
RED = ContextItem(kind="dice", path="dice.md", revision=1, lines=[1, 1], text="red dice")


class DiceMemory(NoMemory):
    """Memory that has only the line under an answer, with what `count` returns."""

    def __init__(self, count):
        self.count = count

    def answer_line(self, answer, session):
        return self.count(answer)

    def worded_line(self, line, message_id, undone):
        return WordedLine("", f"Rolled {line['used']} times, undone: {undone}", f"/dice/{message_id}")


@pytest.fixture
def dice():
    """dice(count): put a memory that counts so in the place of the own one."""
    context = MessageContext(lambda session, message: [RED], lambda items: "Red dice.")
    extensions.unregister(MEMORY)
    made = extensions.register(Extension(MEMORY_NAME, tools=[ROLL], message_context=context))
    before = extensions.memory()
    yield lambda count: extensions.install_memory(DiceMemory(count))
    extensions.install_memory(before)
    extensions.unregister(made)
    extensions.register(MEMORY)


async def test_the_numbers_of_an_answer_are_stored_and_shown(ada, scripted, dice, client):
    seen = []

    def count(answer):
        seen.append(answer)
        return {"used": len(answer.calls)}

    dice(count)
    scripted.script(model.answer(model.text("I roll."), model.tool_use("roll_dice", {})), model.answer("A four."))
    talk = Talk(ada, scripted)
    last = await talk.say("Roll")
    assert last.meta[ANSWER_LINES_KEY] == {MEMORY_NAME: {"used": 1}}
    (answer,) = seen
    assert (answer.question, answer.answer, answer.message_items) == ("Roll", "I roll.\n\nA four.", [RED])
    (call,) = answer.calls
    assert (call.name, call.result, call.kept) == ("roll_dice", '{"rolled": 4}', {"by": "me"})
    # What opens is made of the rows.
    assert await in_database(lambda: finished_answer(Message.objects.get(pk=last.pk))) == answer
    await in_database(client.force_login, ada)
    html = (await in_database(client.get, f"/c/{talk.session_id}")).content.decode()
    assert "Rolled 1 times, undone: None</summary>" in html
    assert f'hx-get="/dice/{last.pk}"' in html


async def test_without_numbers_there_is_no_line(ada, scripted, dice, client):
    dice(lambda answer: {})
    talk = Talk(ada, scripted)
    last = await talk.say("Hello")
    assert ANSWER_LINES_KEY not in last.meta
    await in_database(client.force_login, ada)
    assert "answer-line" not in (await in_database(client.get, f"/c/{talk.session_id}")).content.decode()


async def test_a_line_that_cannot_be_counted_does_not_lose_the_answer(ada, scripted, dice, caplog):
    dice(lambda answer: 1 // 0)
    last = await Talk(ada, scripted).say("Hello")
    assert last.text == "Hello from the scripted model."
    assert "The line of memory under an answer could not be made." in caplog.text


def test_what_was_saved_is_said_where_its_card_is_far_above_and_only_while_it_is_there(dice):
    dice(lambda answer: {})
    line = {MEMORY_NAME: {"used": 1, "made": [7, 8]}}
    near = Message(pk=1, text="Short.", meta={ANSWER_LINES_KEY: line})
    far = Message(pk=1, text="x" * (CARD_IN_VIEW_MAX_CHARS + 1), meta={ANSWER_LINES_KEY: line})
    undone = {"heading": "", "html": "", "can_undo": False}
    cards = {
        "a": {"state": "done", "summary": "", "lines": [], "made": 7, "since": undone},
        "b": {"state": "done", "summary": "", "lines": [], "made": 8, "since": {**undone, "can_undo": True}},
    }
    assert [each.words for each in answer_lines(near, cards)] == ["Rolled 1 times, undone: None"]
    assert [each.words for each in answer_lines(far, cards)] == ["Rolled 1 times, undone: {7}"]
