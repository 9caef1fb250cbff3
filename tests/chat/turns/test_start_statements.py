"""How many statements there are from a message to the request of its turn."""

import uuid

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from chat.compaction import room
from chat.conversations import transcript
from chat.turns.admission import within_budgets

SAID = [{"type": "text", "text": "Hi."}]
ENDED = {"stop_reason": "end_turn", "usage": {"input_tokens": 900, "output_tokens": 3}, "model": "m"}
# Besides BEGIN and COMMIT.
FIRST_MAX_STATEMENTS, LATER_MAX_STATEMENTS = 8, 7


def begun(user, session_id, text):
    """Store a message, build the first request of its turn, and end it; return the number of statements until then."""
    with CaptureQueriesContext(connection) as captured:
        client_id = uuid.uuid4()
        stored = within_budgets(user, client_id, transcript.accept, user, session_id, client_id, text)
        room.begin_request(stored.turn, is_first=stored.is_first)
    transcript.finish_turn(stored.turn, stored.answer, SAID, "complete", **ENDED)
    return len([each for each in captured.captured_queries if each["sql"] not in ("BEGIN", "COMMIT")])


@pytest.mark.django_db(transaction=True)
def test_a_turn_starts_with_few_statements(ada):
    # What a process looks up only once.
    begun(ada, uuid.uuid4(), "Hello")
    session_id = uuid.uuid4()
    assert begun(ada, session_id, "Hello") <= FIRST_MAX_STATEMENTS
    assert begun(ada, session_id, "And now?") <= LATER_MAX_STATEMENTS
