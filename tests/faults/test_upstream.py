"""Every way in which the model's server can fail, as a person sees it through the socket."""

import html
import uuid
from dataclasses import dataclass

import pytest

from oneclaw.reasons import Reason
from tests import replies
from tests.faults.site import Site, send
from tests.scripted import Reply, answer, text

pytestmark = [pytest.mark.faults, pytest.mark.timeout(120)]
WORDS = "These are the words of an answer that nobody will ever see to its end."
WHOLE = answer(text(WORDS))
NOTHING = answer(text(WORDS), first_byte=20)


@dataclass(frozen=True)
class Case:
    """What the server does, and how the turn ends: its status, the failure's code, how much of the text is kept."""

    replies: tuple[Reply, ...]
    status: str
    code: str = ""
    kept: str = ""
    retries: int = 0


def broken(fault, code: str, **more) -> Case:
    """The stream begins well, and then that happens."""
    return Case((fault(WHOLE, after="words of"),), "failed", code, "These are the words of", **more)


CASES = {
    "429 with a short retry-after": Case((replies.rate_limited(1), WHOLE), "complete", kept=WORDS, retries=1),
    "429 with a retry-after that nobody waits for": Case((replies.rate_limited(3600),), "failed", "rate_limited"),
    "529 before any text": Case((replies.overloaded(), WHOLE), "complete", kept=WORDS, retries=1),
    "529 for ever": Case((replies.overloaded(),) * 3, "failed", "overloaded", retries=2),
    "500 before any text": Case((replies.server_fault(), WHOLE), "complete", kept=WORDS, retries=1),
    "401": Case((replies.key_refused(),), "failed", "key_refused"),
    "404": Case((replies.unknown_model("nobody"),), "failed", "unknown_model"),
    # As it is, without thinking, and as plain text.
    "400": Case((replies.bad_request(),) * 3, "failed", "bad_request"),
    "400 once": Case((replies.bad_request(), WHOLE), "complete", kept=WORDS),
    "a spend limit": Case((replies.spend_limit(),), "failed", "spend_limit"),
    "a refusal": Case((answer(text("These are the words of"), stop_reason="refusal"),), "failed", "refused", "These"),
    "529 after text": broken(replies.overloaded, "overloaded"),
    "silence before any text": Case((NOTHING,), "failed", "timed_out"),
    "silence after text": broken(replies.stalled, "timed_out"),
    "a reset before any text": Case((replies.reset(WHOLE), WHOLE), "complete", kept=WORDS, retries=1),
    "a reset after text": broken(replies.reset, "cut_off"),
    "a clean end before the end": broken(replies.ended, "cut_off"),
    "a cut in the middle of an event": Case((replies.cut(WHOLE, after=1640),), "failed", "cut_off", "These"),
    "an event that is no JSON": broken(replies.garbled, "model_error"),
    "a page with status 200": Case((replies.html(),), "failed", "model_error"),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
def test_a_failure_of_the_upstream_has_one_typed_outcome(site: Site, case: Case):
    session = str(uuid.uuid4())
    site.upstream.replies.extend(case.replies)
    with site.talk(session) as talk:
        send(talk, session, "Tell me.")
        assert talk.hear("done", final=True)["status"] == case.status
        error = talk.hear("error", code=case.code) if case.code else {"text": ""}
        retried = [frame for frame in talk.seen if frame["type"] == "notice" and frame["kind"] == "retrying"]
    assert len(retried) == case.retries
    assert not site.upstream.replies
    asked, answered = site.agreed(session)
    assert (asked.status, answered.status) == ("complete", case.status)
    assert answered.text.startswith(case.kept)
    assert WORDS.startswith(answered.text)
    assert (answered.text == WORDS) == (case.status == "complete")
    page = site.house.get(f"/c/{session}", site.cookie)[1]
    assert bool(error["text"]) == bool(case.code)
    assert html.escape(error["text"]) in page
    ((code, kept),) = site.rows("SELECT error_code, error FROM chat_turn WHERE session_id = %s", session)
    assert (code, str(Reason.of(kept) or "")) == (case.code, error["text"])
    assert ('data-action="retry"' in page) == (case.status == "failed")
    assert ('data-action="continue"' in page) == (case.status == "failed" and bool(case.kept))


def test_how_long_the_server_asks_to_wait_is_shown(site: Site):
    session = str(uuid.uuid4())
    site.upstream.replies.extend([replies.rate_limited(2), WHOLE, replies.rate_limited(3600)])
    with site.talk(session) as talk:
        send(talk, session, "Tell me.")
        assert "in 2 s" in talk.hear("notice", kind="retrying")["html"]
        talk.hear("done", final=True, status="complete")
        send(talk, session, "Tell me more.")
        error = talk.hear("error")
    assert error["retry_after"] == 3600
    assert "60 minutes" in error["text"]
    site.agreed(session)


def test_a_server_that_refuses_connections_is_told_and_a_later_retry_succeeds(site: Site):
    session = str(uuid.uuid4())
    site.upstream.server.stop()
    try:
        with site.talk(session) as talk:
            send(talk, session, "Tell me.")
            error = talk.hear("error", code="unreachable")
    finally:
        site.upstream.server.start()
    assert [message.status for message in site.agreed(session)] == ["complete", "failed"]
    assert html.escape(error["text"]) in site.house.get(f"/c/{session}", site.cookie)[1]
    with site.talk(session) as talk:
        talk.say("retry", message=error["message"])
        talk.hear("done", final=True, status="complete")
    assert [message.text for message in site.agreed(session)] == ["Tell me.", "Noted."]
