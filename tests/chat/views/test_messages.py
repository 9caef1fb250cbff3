"""What can be done with one message without a script: its own page, its raw text, another version, a fork."""

import uuid

import pytest

from chat.conversations import branches
from chat.conversations.message_pages import page_messages
from chat.models import ChatSession, Message
from chat.rendering.details import details_of
from chat.rendering.shown import ShownMessage
from tests.conversations import send, settle

PRICES = {"claude-sonnet": (3.0, 15.0, 0.3, 3.75), "claude-sonnet-5-5": (6.0, 30.0, 0.6, 7.5)}


@pytest.fixture
def said(ada, client):
    """Ada's conversation of one turn, and she is signed in."""
    accepted = send(ada, "One")
    settle(accepted, "# First\n\n**bold**")
    client.force_login(ada)
    return accepted


def test_the_raw_text_of_an_answer_is_what_was_written(client, said):
    response = client.get(f"/messages/{said.answer.pk}/raw")
    assert response.headers["content-type"] == "text/plain; charset=utf-8"
    assert response.content.decode() == "# First\n\n**bold**"
    assert client.get(f"/messages/{said.message.pk}/raw").content.decode() == "One"


def test_another_version_is_shown_and_the_page_has_arrows_to_it(client, ada, said):
    edited = branches.edit(ada, said.message.pk, uuid.uuid4(), "Another")
    settle(edited)
    page = client.get(f"/c/{said.message.session_id}").content.decode()
    assert "2 / 2" in page
    assert f'formaction="/messages/{said.message.pk}/show"' in page
    response = client.post(f"/messages/{said.message.pk}/show", follow=True)
    page = response.content.decode()
    assert "1 / 2" in page
    assert "<strong>bold</strong>" in page
    assert f'id="message-{edited.message.pk}"' not in page


@pytest.mark.parametrize("act", ["show", "fork"])
def test_what_cannot_be_done_while_an_answer_runs_is_told(client, ada, said, act):
    running = send(ada, "Two", said.message.session_id)
    page = client.post(f"/messages/{running.answer.pk}/{act}", follow=True).content.decode()
    assert "An answer is still running. Wait for it, or stop it." in page
    assert ChatSession.objects.count() == 1


def test_a_fork_opens(client, said):
    response = client.post(f"/messages/{said.answer.pk}/fork")
    made = ChatSession.objects.get(parent=said.message.session)
    assert response.headers["location"] == f"/c/{made.pk}"
    assert "<strong>bold</strong>" in client.get(f"/c/{made.pk}").content.decode()


@pytest.mark.django_db(transaction=True)
def test_a_message_is_edited_and_answered_again_by_forms(client, ada, said, scripted):
    address = f"/messages/{said.message.pk}/edit"
    form = client.get(address).content.decode()
    assert ">One</textarea>" in form
    fields = {"client_id": str(uuid.uuid4()), "text": "Another"}
    assert client.post(address, {**fields, "text": " "}).status_code == 422
    assert client.post(address, fields).headers["location"] == f"/c/{said.message.session_id}"
    # Its turn ended with the request's loop.
    said.message.session.turns.filter(status="running").update(status="complete")
    Message.objects.filter(status="running").update(status="complete")
    assert client.post(address, {**fields, "client_id": str(uuid.uuid4())}).status_code == 409
    answer = said.message.session.messages.shown().last()
    assert client.post(f"/messages/{answer.pk}/retry").status_code == 302
    assert said.message.session.turns.latest("pk").attempt == 2


@pytest.mark.parametrize("act", ["details", "raw", "edit"])
def test_a_stranger_sees_nothing_of_a_message(client, stranger, said, act):
    client.force_login(stranger)
    assert client.get(f"/messages/{said.message.pk}/{act}").status_code == 404


@pytest.mark.parametrize("act", ["show", "fork", "retry", "continue", "edit"])
def test_a_stranger_does_nothing_with_a_message(client, stranger, said, act):
    client.force_login(stranger)
    fields = {"client_id": str(uuid.uuid4()), "text": "x"}
    assert client.post(f"/messages/{said.answer.pk}/{act}", fields).status_code == 404
    assert client.post(f"/messages/{said.message.pk}/{act}", fields).status_code == 404
    assert ChatSession.objects.count() == 1
    assert Message.objects.count() == 2


def test_details_say_the_model_the_tokens_and_the_cost(client, said, settings):
    settings.PRICES = PRICES
    usage = {"input_tokens": 1000, "output_tokens": 200, "cache_read_input_tokens": 10_000}
    Message.objects.filter(pk=said.answer.pk).update(usage=usage, model="claude-sonnet-5-5-20260901")
    tokens = details_of(ShownMessage(Message.objects.get(pk=said.answer.pk))).tokens
    assert (tokens.read, tokens.cached, tokens.written) == (1000, 10_000, 200)
    assert tokens.cost == pytest.approx((1000 * 6 + 200 * 30 + 10_000 * 0.6) / 1e6)
    page = client.get(f"/messages/{said.answer.pk}/details").content.decode()
    assert "claude-sonnet-5-5-20260901" in page
    assert "10,000" in page
    assert "$0.0180" in page
    settings.PRICES = {}
    assert "Cost" not in client.get(f"/messages/{said.answer.pk}/details").content.decode()


def test_a_page_asks_for_messages_and_versions_at_once(ada, said, django_assert_num_queries):
    for number in range(5):
        settle(send(ada, f"More {number}", said.message.session_id))
    settle(branches.edit(ada, said.message.session.messages.get(text="More 2").pk, uuid.uuid4(), "Another"))
    with django_assert_num_queries(1):
        page = page_messages(said.message.session.messages.shown())
    assert page.count("2 / 2") == 1
