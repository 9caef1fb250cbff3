"""Log lines as JSON, with the ids of what they belong to."""

import io
import json
import logging

from oneclaw.telemetry import ids
from oneclaw.telemetry.logs import JsonLines


def test_a_line_is_an_object_with_the_ids_and_the_exception():
    output = io.StringIO()
    handler = logging.StreamHandler(output)
    handler.setFormatter(JsonLines())
    logger = logging.Logger("chat.turns.loop")
    logger.addHandler(handler)
    request, turn = ids.request_id.set("req-7"), ids.turn_id.set(42)
    try:
        raise ValueError("what went wrong")
    except ValueError:
        logger.exception("Turn %s failed.", 42)
    finally:
        ids.request_id.reset(request)
        ids.turn_id.reset(turn)

    (line,) = output.getvalue().splitlines()
    found = json.loads(line)
    assert (found["level"], found["logger"], found["message"]) == ("ERROR", "chat.turns.loop", "Turn 42 failed.")
    assert (found["request_id"], found["turn_id"]) == ("req-7", 42)
    assert "what went wrong" in found["exc_info"]
    assert found["time"]
