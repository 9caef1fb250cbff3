"""A message that is sent again is stored once."""

import uuid

import pytest

from tests.faults.site import Site, send
from tests.scripted import answer, text

pytestmark = [pytest.mark.faults, pytest.mark.timeout(120)]


def test_after_a_lost_acknowledgement_five_resends_find_the_one_message(site: Site):
    session, client_id = str(uuid.uuid4()), str(uuid.uuid4())
    site.upstream.replies.append(answer("Once."))
    message = {"client_id": client_id, "session": session, "text": "Only once, please."}
    with site.house.socket(site.cookie) as talk:
        talk.say("send", **message)
        # Gone without a word, before anything can have come.
        talk.connection.socket.close()
    acknowledgements = []
    for _ in range(5):
        with site.house.socket(site.cookie) as talk:
            talk.say("send", **message)
            acknowledgements.append(talk.hear("ack", client_id=client_id))
    assert len({found["message"] for found in acknowledgements}) == 1
    assert all(found["duplicate"] for found in acknowledgements[1:])
    asked, answered = site.agreed(session)
    assert (str(asked.id), asked.text) == (acknowledgements[0]["message"], message["text"])
    assert (answered.status, answered.text) == ("complete", "Once.")


def test_the_same_id_with_another_text_is_refused_and_changes_nothing(site: Site):
    session, client_id = str(uuid.uuid4()), str(uuid.uuid4())
    with site.talk(session) as talk:
        send(talk, session, "The first text.", client_id)
        talk.hear("done", final=True)
        talk.say("send", client_id=client_id, session=session, text="Another text.")
        assert talk.hear("error", client_id=client_id)["code"] == "conflict"
    assert [message.text for message in site.agreed(session)] == ["The first text.", "Noted."]


def test_a_double_click_is_one_message(site: Site):
    session, client_id = str(uuid.uuid4()), str(uuid.uuid4())
    message = {"client_id": client_id, "session": session, "text": "Click, click."}
    with site.talk(session) as one, site.talk(session, web=-1) as other:
        for talk in (one, other, one, other):
            talk.say("send", **message)
        found = [talk.hear("ack", client_id=client_id) for talk in (one, other, one, other)]
        assert len({acknowledgement["message"] for acknowledgement in found}) == 1
        assert [acknowledgement["duplicate"] for acknowledgement in found].count(False) == 1
        for talk in (one, other):
            # The answer may have ended before the second click was acknowledged.
            if not any(frame["type"] == "done" for frame in talk.seen):
                talk.hear("done", final=True)
    assert [message.role for message in site.agreed(session)] == ["user", "assistant"]


def test_of_two_messages_at_once_one_is_answered_and_the_other_is_told_to_wait(site: Site):
    session = str(uuid.uuid4())
    site.upstream.replies.extend([answer(text("Slowly. " * 8, pace=0.1)), answer("Second.")])
    with site.talk(session) as one, site.talk(session, web=-1) as other:
        sent = {}
        for talk, words in ((one, "Me first."), (other, "No, me.")):
            sent[talk] = {"client_id": str(uuid.uuid4()), "session": session, "text": words}
            talk.say("send", **sent[talk])
        taken, refused = (one, other) if is_taken(one) else (other, one)
        assert refused is one or not is_taken(other)
        refused.hear("done", final=True)
        refused.say("send", **sent[refused])
        refused.hear("ack")
        refused.hear("done", final=True)
    texts = [message.text for message in site.agreed(session)]
    assert texts[0] == sent[taken]["text"]
    assert texts[2:] == [sent[refused]["text"], "Second."]


def is_taken(talk) -> bool:
    """Whether the message of this socket was stored; False when it was told to wait."""
    while True:
        frame = talk.hear_any()
        if frame["type"] in ("ack", "error"):
            return frame["type"] == "ack"
