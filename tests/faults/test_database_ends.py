"""PostgreSQL is restarted at once, without a goodbye to anybody."""

import signal
import uuid

import pytest
from websockets.exceptions import ConnectionClosed

from oneclaw.replies import answer, text
from tests.faults.site import LONG, Site, send

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


def test_in_mid_send_what_was_not_acknowledged_is_sent_again_and_stored_once(site: Site):
    session = str(uuid.uuid4())
    message = {"client_id": str(uuid.uuid4()), "session": session, "text": "Once, whatever happens."}
    with site.house.database() as connection, site.talk(session) as talk:
        connection.execute("BEGIN")
        connection.execute("LOCK TABLE chat_message IN EXCLUSIVE MODE")
        talk.say("send", **message)
        site.until_waiting()
        site.strike("postgres", IMMEDIATE)
        with pytest.raises(ConnectionClosed) as closed:
            talk.hear("ack")
        assert closed.value.rcvd.code == 1011
        connection.close()
    site.back("postgres")
    with site.talk(session) as talk:
        site.upstream.replies.append(answer("Here I am."))
        talk.say("send", **message)
        assert not talk.hear("ack")["duplicate"]
        talk.hear("done", final=True)
    assert [message.text for message in site.agreed(session)] == ["Once, whatever happens.", "Here I am."]
