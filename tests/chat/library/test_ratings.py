"""An answer is rated by its owner, with an optional reason; an admin sees numbers alone."""

import pytest

from chat.conversations import agents
from chat.models import ChatSession, Rating
from tests.conversations import send, settle


@pytest.fixture
def answer(ada):
    return settle(send(ada, "Which tea is good?"), "Camomile.")


def rate(client, answer, **fields):
    return client.post(f"/messages/{answer.pk}/rate", fields, headers={"HX-Request": "true"})


def test_an_answer_is_rated_again_and_not_at_all(client, ada, answer):
    client.force_login(ada)
    assert rate(client, answer, value="good").status_code == 204
    rating = Rating.objects.get()
    assert (rating.message_id, rating.is_good, rating.model, rating.agent_id) == (
        answer.pk,
        True,
        "m",
        answer.session.agent_id,
    )
    assert "Reason (optional)" in rate(client, answer, value="bad").content.decode()
    assert rate(client, answer, reason="It  has no caffeine. ").status_code == 204
    rating = Rating.objects.get()
    assert (rating.is_good, rating.reason) == (False, "It  has no caffeine.")
    assert "Bad: It  has no caffeine." in client.get(f"/messages/{answer.pk}/details").content.decode()
    assert rate(client, answer, value="").status_code == 204
    assert not Rating.objects.exists()
    assert rate(client, answer, value="great").status_code == 400


def test_the_page_shows_what_was_said(client, ada, answer):
    client.force_login(ada)
    rate(client, answer, value="bad")
    html = client.get(f"/c/{answer.session_id}").content.decode()
    assert html.count('aria-pressed="true" aria-label="Bad answer"') == 1
    assert html.count('aria-pressed="false" aria-label="Good answer"') == 1


def test_without_script_the_reason_is_asked_on_a_page(client, ada, answer):
    client.force_login(ada)
    page = client.post(f"/messages/{answer.pk}/rate", {"value": "bad"})
    assert "What was bad about it?" in page.content.decode()
    back = client.post(f"/messages/{answer.pk}/rate", {"reason": "Cold."})
    assert back.url == f"/c/{answer.session_id}"
    assert client.post(f"/messages/{answer.pk}/rate", {"value": "good"}).url == f"/c/{answer.session_id}"


def test_only_finished_answers_of_ones_own_are_rated(client, ada, stranger, answer):
    running = send(ada, "And?", answer.session_id)
    client.force_login(ada)
    assert rate(client, running.message, value="good").status_code == 404
    assert rate(client, running.answer, value="good").status_code == 404
    client.force_login(stranger)
    assert rate(client, answer, value="good").status_code == 404
    assert not Rating.objects.exists()


def test_an_admin_sees_numbers_by_day_agent_and_model_and_no_text(client, ada, admin_person, answer):
    client.force_login(ada)
    rate(client, answer, value="bad")
    rate(client, answer, reason="My secret reason")
    poet = agents.create(ada, agents.AgentDraft("Secret poet", "Rhyme.", "", []))
    ChatSession.objects.filter(pk=answer.session_id).update(agent=poet)
    other = settle(send(ada, "And?", answer.session_id), "Mint.")
    rate(client, other, value="good")
    counts = [(row["agent_name"], row["model"], row["good"], row["bad"]) for row in Rating.objects.counts()]
    assert counts == [("", "m", 1, 0), (answer.session.agent.name, "m", 0, 1)]
    client.force_login(admin_person)
    page = client.get("/admin/chat/rating/")
    assert page.status_code == 200
    html = page.content.decode()
    assert answer.session.agent.name in html
    assert "ecret" not in html
    assert client.get(f"/admin/chat/rating/{answer.pk}/change/").status_code == 404
    client.force_login(ada)
    assert client.get("/admin/chat/rating/").status_code in (302, 403)
