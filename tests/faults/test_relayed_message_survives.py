"""The process dies that has a message for another conversation: another process delivers it, once."""

import uuid

import pytest

from tests.faults.site import LONG, Site, send
from tests.scripted import answer, text, tool_use
from tests.stage import until

pytestmark = [pytest.mark.faults, pytest.mark.timeout(180)]


def test_after_kill_9_a_message_that_waited_for_a_busy_conversation_is_delivered_once(site: Site):
    site.turn_on_session_tools()
    busy, origin = site.ask("Are you there?", answer("Yes.")), str(uuid.uuid4())
    with site.talk(busy) as other:
        site.upstream.replies.append(answer(text(LONG, pace=0.05)))
        send(other, busy, "Tell me much.")
        site.until_saved(busy)
        words = f"How many birds? {uuid.uuid4().hex}"
        call = answer(tool_use("sessions_send", {"session": busy, "text": words}))
        site.ask("Ask the other conversation.", call, answer("Asked."), session=origin)
        state = "SELECT state FROM chat_relayedmessage WHERE target_id = %s"
        assert site.rows(state, busy) == [("queued",)]
        site.strike("web")
    site.back("web")
    # The sweeps of beat offer it to all web processes.
    until(lambda: site.rows(state, busy) == [("delivered",)], 60, "it is delivered")
    site.until_settled(busy)
    arrived = [each.status for each in site.agreed(busy) if each.role == "user" and each.text == words]
    assert arrived == ["complete"]
    assert [each.status for each in site.agreed(busy)][-3:] == ["interrupted", "complete", "complete"]
