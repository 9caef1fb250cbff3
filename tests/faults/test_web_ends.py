"""The web process ends in the middle of an answer."""

import json
import signal
import time
import uuid

import pytest
from websockets.exceptions import ConnectionClosed

from tests.faults.site import LONG, Site, send
from tests.scripted import answer, text, tool_use
from tests.stage import until

pytestmark = [pytest.mark.faults, pytest.mark.timeout(180)]


def slow_answer():
    return answer(text(LONG, pace=0.03))


def test_after_kill_9_the_saved_text_is_interrupted_and_can_be_continued(site: Site):
    session = str(uuid.uuid4())
    site.upstream.replies.append(slow_answer())
    with site.talk(session) as talk:
        send(talk, session, "Tell me all the words.")
        site.until_saved(session, 100)
        site.strike("web", signal.SIGKILL)
        with pytest.raises(ConnectionClosed):
            talk.hear("done")
    site.back("web")
    asked, cut = site.agreed(session)
    assert (asked.text, asked.status, cut.status) == ("Tell me all the words.", "complete", "interrupted")
    assert len(cut.text) >= 100
    assert LONG.startswith(cut.text)

    site.upstream.replies.append(answer("And that is all."))
    with site.talk(session) as talk:
        talk.say("continue", message=str(cut.id))
        talk.hear("done", status="complete", final=True)
    assert [message.text for message in site.agreed(session)] == [asked.text, cut.text, "And that is all."]


def test_after_sigterm_everything_that_was_shown_is_saved_at_once(site: Site):
    session = str(uuid.uuid4())
    site.upstream.replies.append(slow_answer())
    with site.talk(session) as talk:
        send(talk, session, "Tell me all the words.")
        talk.hear("block")
        until_words(talk, 40)
        shown = max((frame for frame in talk.seen if frame["type"] == "block"), key=lambda frame: frame["revision"])
        began = time.monotonic()
        site.strike("web", signal.SIGTERM)
        assert time.monotonic() - began < 8
    # Before any other process could have swept it up.
    ((status, said),) = site.rows(
        "SELECT status, text FROM chat_message WHERE session_id = %s AND role = 'assistant'", session
    )
    assert status == "interrupted"
    assert said.count(" ") >= shown["html"].count(" ")
    site.back("web")
    assert site.agreed(session)[-1].text == said
    assert LONG.startswith(said)


def test_a_frozen_web_that_wakes_up_does_not_write_over_what_the_sweep_decided(site: Site):
    session = str(uuid.uuid4())
    site.upstream.replies.append(slow_answer())
    with site.talk(session) as talk:
        send(talk, session, "Tell me all the words.")
        site.until_saved(session, 100)
        with site.frozen("web"):
            site.until_settled(session)
            ((status, said),) = site.rows(
                "SELECT status, text FROM chat_message WHERE session_id = %s AND role = 'assistant'", session
            )
        assert status == "interrupted"
        # Whoever was looking learns it too.
        talk.hear("done", status="interrupted", final=True)
    assert site.agreed(session)[-1].text == said


def test_a_crash_between_a_tools_effect_and_its_result_neither_repeats_it_nor_blocks_the_session(site: Site):
    remember = [answer(tool_use("save_memory", {"content": f"Fact {uuid.uuid4()}"})) for _ in range(2)]
    site.ask("Remember one thing.", remember[0])
    session = str(uuid.uuid4())
    site.upstream.replies.append(remember[1])
    fact = json.loads("".join(remember[1].blocks[0].deltas))["content"]
    with site.house.database() as connection, site.talk(session) as talk:
        # The tool waits for its document, then its result for the session.
        connection.execute("BEGIN")
        connection.execute("SELECT 1 FROM memory_memorydocument WHERE path = 'MEMORY.md' FOR UPDATE")
        send(talk, session, f"Remember another thing: {fact}")
        site.until_waiting()
        with site.house.database() as second, second.transaction():
            second.execute("SELECT 1 FROM chat_chatsession WHERE id = %s FOR NO KEY UPDATE", [session])
            connection.execute("ROLLBACK")
            until(lambda: fact in site.memory("MEMORY.md"), 20, "the fact is saved")
            site.strike("web")
    site.back("web")
    site.until_settled(session)
    assert site.memory("MEMORY.md").count(fact) == 1
    assert site.agreed(session)[-1].status == "interrupted"
    site.ask("Are you there?", answer("Yes."), session=session)
    # The API takes no tool call without its result.
    sent = [json.dumps(each.body["messages"]) for each in site.upstream.server.messages]
    assert any("It may or may not have taken effect" in each and "Are you there?" in each for each in sent)
    assert site.agreed(session)[-1].text == "Yes."


def until_words(talk, count: int) -> None:
    until(lambda: talk.hear("block")["html"].count(" ") >= count, 20, f"{count} words are shown")
