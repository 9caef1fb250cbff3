"""A frame says what of its text was pasted; the message keeps it, over the queue, an edit and a command."""

import json
import uuid

import pytest

from chat.conversations import branches, transcript
from chat.conversations.model_choice import NO_CHOICE
from chat.conversations.pasted import within
from chat.conversations.shared import queue
from chat.live.errors import FrameError
from chat.live.frames import EditFrame, SendFrame, frame_of
from chat.models import Message
from chat.turns.commands import ending_in
from tests.chat.live.test_socket import idle
from tests.chat.shared.cast import shared_conversation
from tests.conversations import send, settle


def frame(text="See this, please", **fields):
    return frame_of(SendFrame, client_id=uuid.uuid4(), session=uuid.uuid4(), text=text, **fields)


def test_ranges_are_of_code_points_of_the_text():
    assert frame(pasted=[[4, 8]]).pasted == ((4, 8),)
    assert frame("😀 😀", pasted=[[2, 3]]).pasted == ((2, 3),)
    # As a form sends them, with the line ends of a form.
    assert frame("a\r\nbc", pasted="[[2, 4]]").pasted == ((2, 4),)
    assert frame().pasted is None
    assert frame(pasted="").pasted is None


MANY = [[number, number + 1] for number in range(1001)]
NO_RANGES = [[[4]], [[8, 4]], [[4, 4]], [[0, 17]], [[-1, 2]], [[4, 8], [6, 9]], [["4", "8"]], [[4.0, 8.0]], MANY]


@pytest.mark.parametrize("ranges", [*NO_RANGES, {"a": 1}, "no", 7, "[" * 50_000])
def test_other_values_are_refused(ranges):
    with pytest.raises(FrameError, match="pasted must be"):
        frame("x" * 16, pasted=ranges)


def test_the_message_keeps_what_was_pasted(ada):
    written = (uuid.uuid4(), uuid.uuid4(), "See this, please")
    message = transcript.accept(ada, *written, pasted=((4, 8),)).message
    message = Message.objects.get(pk=message.pk)
    assert (message.pasted_texts, message.typed_text) == (["this"], "See \n, please")
    assert send(ada, "Typed.").message.pasted_texts == []


def test_an_edit_says_it_anew_or_keeps_it_as_far_as_it_is_there(ada):
    written = (uuid.uuid4(), uuid.uuid4(), "See this, please")
    accepted = transcript.accept(ada, *written, pasted=((4, 8),))
    settle(accepted)
    kept = branches.edit(ada, accepted.message.pk, uuid.uuid4(), "Now see this")
    assert kept.message.pasted_texts == ["this"]
    settle(kept)
    typed = branches.edit(ada, kept.message.pk, uuid.uuid4(), "Now see this", pasted=())
    assert typed.message.pasted_texts == []
    assert frame_of(EditFrame, client_id=uuid.uuid4(), message="1", text="abc", pasted=[[0, 1]]).pasted == ((0, 1),)


def test_what_follows_a_command_has_its_ranges():
    ending = ending_in("/new  See this")
    assert (ending.text, ending.start) == ("See this", 6)
    assert within(((0, 3), (4, 8), (10, 14)), ending.start) == ((0, 2), (4, 8))


@pytest.mark.django_db(transaction=True)
async def test_a_page_without_a_socket_says_it_as_json(async_client, ada):
    await async_client.aforce_login(ada)
    form = {"text": "See this", "client_id": str(uuid.uuid4()), "pasted": json.dumps([[4, 8]])}
    await async_client.post(f"/c/{uuid.uuid4()}/send", form)
    await idle()
    message = await Message.objects.aget(role="user")
    assert message.pasted_texts == ["this"]


def test_the_queue_of_a_shared_conversation_keeps_it(ada):
    cast = shared_conversation(ada)
    first = transcript.accept(ada, cast.session.pk, uuid.uuid4(), "Hello")
    queue.add(cast.ed, cast.session.pk, uuid.uuid4(), "See this", NO_CHOICE, [], pasted=((4, 8),))
    assert [each.pasted for each in queue.waiting(cast.session.pk)] == [((4, 8),)]
    settle(first)
    accepted = queue.accept_next(cast.session.pk, uuid.uuid4())
    assert Message.objects.get(pk=accepted.message.pk).pasted_texts == ["this"]
