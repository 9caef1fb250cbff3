"""PostgreSQL is restarted at once, without a goodbye to anybody."""

import signal
import uuid

import pytest

from tests.faults.site import LONG, Site, send
from tests.scripted import answer, text

pytestmark = [pytest.mark.faults, pytest.mark.timeout(180)]
# What PostgreSQL calls an immediate shutdown.
IMMEDIATE = signal.SIGQUIT


def test_in_mid_stream_the_answer_goes_on_and_is_whole(site: Site):
    session, words = str(uuid.uuid4()), LONG[:2000]
    site.upstream.replies.append(answer(text(words, pace=0.02)))
    with site.talk(session) as talk:
        send(talk, session, "Tell me all the words.")
        site.until_saved(session, 100)
        site.strike("postgres", IMMEDIATE)
        site.back("postgres")
        assert talk.hear("done", 30, final=True)["status"] == "complete"
    assert site.agreed(session)[-1].text == words.strip()


def test_an_answer_that_ends_just_then_is_saved_when_the_database_is_back(site: Site):
    session = str(uuid.uuid4())
    site.upstream.replies.append(answer(text("These words end while nobody can write them down.", pace=0.2)))
    with site.house.database() as connection, site.talk(session) as talk:
        send(talk, session, "Tell me.")
        connection.execute("BEGIN")
        connection.execute("LOCK TABLE chat_turn IN EXCLUSIVE MODE")
        # A checkpoint, and then the end.
        site.until_waiting(2)
        site.strike("postgres", IMMEDIATE)
        connection.close()
        site.back("postgres")
        assert talk.hear("done", 30, final=True)["status"] == "complete"
    assert site.agreed(session)[-1].text == "These words end while nobody can write them down."


def test_what_is_sent_just_then_is_stored_once_and_answered_when_the_database_is_back(site: Site):
    session = str(uuid.uuid4())
    message = {"client_id": str(uuid.uuid4()), "session": session, "text": "Once, whatever happens."}
    site.upstream.replies.append(answer("Here I am."))
    with site.house.database() as connection, site.talk(session) as talk:
        connection.execute("BEGIN")
        connection.execute("LOCK TABLE chat_message IN EXCLUSIVE MODE")
        talk.say("send", **message)
        site.until_waiting()
        site.strike("postgres", IMMEDIATE)
        connection.close()
        site.back("postgres")
        assert not talk.hear("ack", 30)["duplicate"]
        talk.hear("done", final=True)
    assert [message.text for message in site.agreed(session)] == ["Once, whatever happens.", "Here I am."]
