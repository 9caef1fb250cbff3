"""The token meter and the pages of what the model is sent: whose they are, and what they show."""

import json
import uuid

import pytest

from chat.context.meter import meter_of
from chat.context.prompt import build_request
from chat.conversations import lifecycle, transcript
from chat.conversations.forking import fork
from chat.library import organise
from chat.models import ChatSession
from memory.documents import write as documents
from memory.documents.write import Append, Author, Source
from memory.forgetting import forget
from oneclaw.models import Space
from tests.conversations import send, settle

USAGE = {
    "input_tokens": 200,
    "cache_creation_input_tokens": 4_000,
    "cache_read_input_tokens": 37_800,
    "output_tokens": 400,
}


def answer(accepted, text="Hi", usage=USAGE):
    """Finish the turn as the model's answer to a request."""
    build_request(accepted.turn)
    content = [{"type": "text", "text": text}]
    ended = {"stop_reason": "end_turn", "usage": usage, "model": "claude-sonnet-5-5"}
    return transcript.finish_turn(accepted.turn, accepted.answer, content, "complete", **ended)


@pytest.fixture
def said(ada, client):
    """Ada's conversation of one turn, and she is signed in."""
    accepted = send(ada, "Which ferry?")
    answer(accepted, "The evening one.")
    client.force_login(ada)
    return accepted


def page(client, address, **headers):
    response = client.get(address, headers=headers)
    assert response.status_code == 200
    return response.content.decode()


def test_the_page_shows_the_ring_from_the_usage_of_the_newest_answer(client, said):
    html = page(client, f"/c/{said.message.session_id}")
    assert 'aria-label="Context: 42 k of 200 k tokens used"' in html
    assert 'stroke-dasharray="21 100"' in html
    assert page(client, f"/c/{said.message.session_id}/meter").strip() in html


def test_the_ring_takes_one_query_however_long_the_conversation_is(client, ada, said, django_assert_num_queries):
    session = ChatSession.objects.select_related("agent").get(pk=said.message.session_id)
    with django_assert_num_queries(1):
        assert meter_of(session).used_tokens == 42_400
    for number in range(20):
        answer(send(ada, f"More {number}", session.pk))
    session = ChatSession.objects.select_related("agent").get(pk=session.pk)
    with django_assert_num_queries(1):
        assert meter_of(session).used_tokens == 42_400


def test_a_conversation_without_an_answer_of_the_model_has_no_ring(client, ada, said):
    accepted = send(ada)
    settle(accepted)
    assert 'class="meter' not in page(client, f"/c/{accepted.message.session_id}")
    assert 'class="meter' not in page(client, "/")
    assert page(client, f"/c/{accepted.message.session_id}/meter").strip() == ""


@pytest.mark.parametrize(
    ("used", "mark"), [(130_000, "meter"), (140_000, "meter meter--high"), (190_000, "meter meter--full")]
)
def test_the_ring_says_that_the_window_is_filling(client, ada, said, used, mark):
    answer(send(ada, "More", said.message.session_id), usage={"input_tokens": used})
    assert f'class="{mark}"' in page(client, f"/c/{said.message.session_id}/meter")


def test_the_dialog_shows_the_parts_and_the_cache(client, said):
    html = page(client, f"/c/{said.message.session_id}/context", hx_request="true")
    assert "<!doctype" not in html
    assert "<strong>42,400</strong> of 200,000 tokens" in html
    assert "90 % of the last request came from the cache." in html
    for name in ("Instructions", "Memory", "Tools", "Conversation"):
        assert f"<dt>{name}</dt>" in html
    assert "<dt>Files</dt>" not in html
    assert "Which ferry?" not in html


def test_the_page_shows_every_part_of_the_next_request(client, said):
    html = page(client, f"/c/{said.message.session_id}/context")
    for part in ("You are OneClaw", "save_memory", "Which ferry?", "The evening one."):
        assert part in html
    assert f'href="/messages/{said.answer.pk}/context"' in html
    body = client.get(f"/c/{said.message.session_id}/context.json").json()
    assert [message["role"] for message in body["messages"]] == ["user", "assistant"]
    assert body["model"]
    assert body["system"][0]["text"].startswith("You are OneClaw")


def test_what_an_answer_was_sent_ends_before_it_and_has_its_own_head(client, ada, said):
    second = send(ada, "And back?", said.message.session_id)
    answer(second, "At noon.")
    html = page(client, f"/messages/{second.answer.pk}/context")
    assert "And back?" in html
    assert "At noon." not in html
    body = client.get(f"/messages/{said.answer.pk}/context.json").json()
    assert [block["text"] for message in body["messages"] for block in message["content"]] == ["Which ferry?"]
    assert f'href="/messages/{said.answer.pk}/context"' in page(client, f"/messages/{said.answer.pk}/details")
    asked = client.get(f"/messages/{said.message.pk}/context")
    assert asked.headers["location"] == f"/c/{said.message.session_id}/context"


def test_text_is_escaped(client, ada):
    client.force_login(ada)
    accepted = send(ada, "<script>alert(1)</script>")
    answer(accepted)
    assert "<script>alert" not in page(client, f"/c/{accepted.message.session_id}/context")


def test_a_stranger_sees_nothing(client, stranger, said):
    client.force_login(stranger)
    session, message = f"/c/{said.message.session_id}", f"/messages/{said.answer.pk}"
    for address in (f"{session}/meter", f"{session}/context", f"{session}/context.json"):
        assert client.get(address).status_code == 404
    for address in (f"{message}/context", f"{message}/context.json"):
        assert client.get(address).status_code == 404
    client.logout()
    assert client.get(f"{session}/context").status_code == 302


def test_a_deleted_conversation_is_not_shown(client, ada, said):
    organise.organise(ada, [said.message.session_id], "delete")
    assert client.get(f"/c/{said.message.session_id}/context").status_code == 404
    assert client.get(f"/messages/{said.answer.pk}/context").status_code == 404


def test_a_temporary_conversation_is_shown_until_it_is_erased(client, ada):
    client.force_login(ada)
    accepted = transcript.accept(ada, uuid.uuid4(), uuid.uuid4(), "Hello", mode=ChatSession.Mode.TEMPORARY)
    answer(accepted)
    address = f"/c/{accepted.message.session_id}/context"
    html = page(client, address)
    assert "Hello" in html
    assert "<dt>Memory</dt>" not in html
    lifecycle.end(ChatSession.objects.get(pk=accepted.message.session_id), "end")
    assert client.get(address).status_code == 404


def test_a_forgotten_line_is_on_none_of_the_pages(client, ada):
    space = Space.objects.own_of(ada)
    documents.apply(space, "MEMORY.md", Append("- The code is swordfish."), Author(Source.PAGE, ada))
    client.force_login(ada)
    accepted = send(ada, "Hello")
    answer(accepted)
    session, message = f"/c/{accepted.message.session_id}", f"/messages/{accepted.answer.pk}"
    addresses = [f"{session}/context", f"{session}/context.json", f"{message}/context", f"{message}/context.json"]
    assert all("swordfish" in page(client, address) for address in addresses)
    forget.forget(space, ["- The code is swordfish."], ada)
    for address in addresses[:3]:
        assert "swordfish" not in page(client, address)
    assert "This is no longer stored" in page(client, f"{message}/context")
    assert client.get(addresses[3]).status_code == 404


def test_looking_changes_nothing(client, ada, said):
    def stored():
        session = ChatSession.objects.get(pk=said.message.session_id)
        heads = list(session.heads.values("number", "system", "condition"))
        return session.head_id, session.thinking_after_seq, heads, list(session.messages.values("meta"))

    ChatSession.objects.filter(pk=said.message.session_id).update(head=None)
    before = stored()
    page(client, f"/c/{said.message.session_id}/context")
    page(client, f"/c/{said.message.session_id}/context", hx_request="true")
    assert json.dumps(stored(), default=str) == json.dumps(before, default=str)


def test_a_fork_takes_as_much_as_what_it_was_copied_from(client, ada, said):
    made = fork(ada, said.answer.pk)
    assert "42 k of 200 k" in page(client, f"/c/{made.pk}/meter")
