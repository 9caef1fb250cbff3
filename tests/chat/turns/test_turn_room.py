"""How much of the window the next request of a turn may take."""

import pytest

from chat.turns.turn_room import TurnRoom
from oneclaw.llm import Finished, Request

USAGE = {"input_tokens": 19_000, "output_tokens": 500}


@pytest.fixture
def full(settings):
    """A turn whose tools have filled a window of 20,000 tokens."""
    settings.WINDOWS = {settings.MODEL: 20_000}
    room = TurnRoom()
    room.asked(Request(settings.MODEL, [], [{"role": "user", "content": "Look."}]))
    room.answered(Finished("tool_use", USAGE, settings.MODEL), [])
    room.brought([{"type": "tool_result", "tool_use_id": "one", "content": "word " * 2_000}])
    return room


def test_results_take_room(full):
    assert full.left < 0


def test_room_is_made_once_for_a_request_that_is_sent_in_several_forms(full, settings):
    full.made()
    assert full.left > 0
    full.answered(Finished("tool_use", USAGE, settings.MODEL), [])
    full.brought([{"type": "tool_result", "tool_use_id": "two", "content": "word " * 2_000}])
    assert full.left < 0
