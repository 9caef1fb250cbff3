"""Two tabs of one person; in a team's set-up each at another web."""

import uuid

import pytest

from tests.faults.site import Site, send
from tests.scripted import answer, text
from tests.stage import until

pytestmark = [pytest.mark.faults, pytest.mark.timeout(120)]


def test_what_one_tab_sends_the_other_shows_whole(site: Site):
    session = str(uuid.uuid4())
    site.upstream.replies.extend([answer(text("First. " * 10, pace=0.05)), answer("Second.")])
    with site.talk(session) as one, site.talk(session, web=-1) as other:
        send(one, session, "From the first tab.")
        assert other.hear("done", final=True)["status"] == "complete"
        one.hear("done", final=True)
        send(other, session, "From the second tab.")
        for tab in (one, other):
            tab.hear("done", final=True)
            shown = "".join(frame.get("html", "") for frame in tab.seen)
            for words in ("From the first tab.", "First. First.", "From the second tab.", "Second."):
                assert words in shown
    site.agreed(session)


def test_switching_to_and_fro_in_mid_stream_loses_nothing(site: Site):
    elsewhere = site.ask("Another conversation.")
    session = str(uuid.uuid4())
    site.upstream.replies.append(answer(text("Some words. " * 20, pace=0.1)))
    with site.talk(session) as one, site.talk(elsewhere, web=-1) as other:
        send(one, session, "A long story.")
        site.until_saved(session)
        ((running,),) = site.rows("SELECT id FROM chat_message WHERE session_id = %s AND status = 'running'", session)
        for target in (elsewhere, session, elsewhere, session):
            one.say("open", session=target, last_seq=0)
            one.hear("ready", session=target)
        other.say("open", session=session, last_seq=0)
        for tab in (one, other):
            tab.hear("done", message=str(running), final=True)
            newest = [frame for frame in tab.seen if frame["type"] == "message" and frame["id"] == str(running)][-1]
            assert newest["html"].count("Some words.") == 20
    assert site.agreed(session)[-1].status == "complete"
    site.agreed(elsewhere)


def test_a_conversation_deleted_in_mid_stream_stops_and_is_gone_from_both(site: Site):
    session = str(uuid.uuid4())
    site.upstream.replies.append(answer(text("Some words. " * 100, pace=0.1)))
    with site.talk(session, web=-1) as one, site.talk(session) as other:
        send(one, session, f"A long story about {session}.")
        site.until_saved(session)
        assert site.post("/conversations/organise", id=session, do="delete") == 200
        for tab in (one, other):
            tab.hear("error", code="not_found")
        site.until_settled(session, 5)
        one.say("send", client_id=str(uuid.uuid4()), session=session, text="Are you there?")
        assert one.hear("error")["code"] == "not_found"
    assert site.house.get(f"/c/{session}", site.cookie)[0] == 404
    statuses = "SELECT status FROM chat_message WHERE session_id = %s ORDER BY seq"
    assert site.rows(statuses, session) == [("complete",), ("stopped",)]
    # Notes about an earlier conversation may have been asked for since.
    (asked,) = [request for request in site.upstream.server.messages if session in str(request.body["messages"])]
    until(lambda: asked.outcome == "left", 10, "the model is left alone")
