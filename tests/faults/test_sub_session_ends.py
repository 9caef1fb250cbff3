"""The process of a sub-session ends: the sub-session has failed, and its conversation learns so."""

import json
import uuid

import pytest

from tests.faults.site import LONG, Site, send
from tests.scripted import answer, text, tool_use
from tests.stage import until

pytestmark = [pytest.mark.faults, pytest.mark.timeout(180)]


def test_after_kill_9_a_sub_session_has_failed_and_its_conversation_is_sent_so_once(site: Site):
    site.turn_on_session_tools()
    # What only the first request costs is not waited for below.
    site.ask("Are you there?", answer("Yes."))
    session, task = str(uuid.uuid4()), f"Count {uuid.uuid4().hex}"
    site.upstream.replies += [
        answer(tool_use("sessions_spawn", {"task": task, "wait": 120})),
        answer(text(LONG, pace=0.03)),
    ]
    with site.talk(session) as talk:
        send(talk, session, "Have it counted.")
        until(lambda: site.rows("SELECT 1 FROM chat_subtask WHERE parent_id = %s", session), 20, "it is begun")
        ((child,),) = site.rows("SELECT session_id FROM chat_subtask WHERE parent_id = %s", session)
        site.until_saved(str(child), 100)
        site.strike("web")
    site.back("web")
    site.until_settled(session)
    site.until_settled(str(child))
    site.sweep("chat")
    query = "SELECT state FROM chat_subtask WHERE parent_id = %s"
    until(lambda: site.rows(query, session) == [("failed",)], 40, "its end is recorded")
    assert [each.status for each in site.agreed(str(child))] == ["complete", "interrupted"]
    site.ask("And now?", answer("It failed."), session=session)
    site.ask("And then?", answer("Nothing."), session=session)
    sent = [each.body["messages"] for each in site.upstream.server.messages]
    first, second = (json.dumps(each) for each in sent if "And now?" in json.dumps(each))
    assert first.count("The server stopped while it was at work.") == 1
    assert second.count("The server stopped while it was at work.") == 1
    assert len(site.rows(query, session)) == 1
