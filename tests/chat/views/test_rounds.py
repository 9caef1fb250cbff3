"""The markers of summaries, their pages, and the form that asks for one: whose they are, and what they do."""

import uuid

import pytest

from chat.compaction import changes, planning
from chat.context.rounds import rounds_in_view
from chat.models import ContextRound
from tests.conversations import send, settle
from tests.summaries import conversation, summarised

READS = "The model now reads a summary of what is above."


@pytest.fixture
def session(ada, client):
    """Ada's long conversation, and she is signed in."""
    client.force_login(ada)
    return conversation(ada)


def page(client, address, **headers):
    response = client.get(address, headers=headers)
    assert response.status_code == 200
    return response.content.decode()


def test_the_marker_is_where_the_summary_ends(client, session):
    round = summarised(session)
    html = page(client, f"/c/{session.pk}")
    before, after = html.split(READS)
    assert f'data-seq="{round.through.seq}"' in before
    assert f'data-seq="{round.through.seq + 1}"' in after
    assert "summarised without the model" in after
    assert page(client, f"/c/{session.pk}/rounds").count("data-round=") == 1


def test_messages_that_are_loaded_later_bring_their_marker(client, ada, session):
    round = summarised(session)
    address = f"/c/{session.pk}/messages"
    after = round.through.seq + 1
    assert READS in page(client, f"{address}?before={after}")
    assert READS in page(client, f"{address}?before={after + 2}&to=1")
    assert READS not in page(client, f"{address}?before={round.through.seq}")
    assert "data-round" in page(client, f"{address}?after={session.last_seq}")


def test_of_several_summaries_the_older_ones_are_a_thin_line(client, ada, session):
    first = summarised(session)
    for _ in range(3):
        settle(send(ada, "More of it. " * 100, session.pk))
    session.refresh_from_db()
    second = summarised(session)
    html = page(client, f"/c/{session.pk}")
    assert html.index("An earlier summary ends here.") < html.index(READS)
    assert html.count(READS) == 1
    assert second.through.seq > first.through.seq
    listed = page(client, f"/c/{session.pk}/context")
    assert "replaced by a later one" in listed


def test_a_summary_that_is_being_written_or_ready_says_so(client, ada, session):
    asked = planning.ask(session)
    html = page(client, f"/c/{session.pk}")
    assert "A summary of earlier messages is being written." in html
    assert "Stop</button>" in html
    changes.undo(ada, session.pk, asked.number)
    assert "data-round=" not in page(client, f"/c/{session.pk}")
    summarised(session, used=False)
    assert "A summary is ready. The model reads it from your next message on." in page(client, f"/c/{session.pk}")


def test_a_branch_without_the_last_message_has_no_marker(client, ada, session):
    round = summarised(session)
    session.messages.filter(pk=round.through_id).update(active=False)
    assert "data-round=" not in page(client, f"/c/{session.pk}/rounds")


def test_the_summary_is_sanitised_markdown_with_what_is_kept_word_for_word(client, session):
    round = summarised(session)
    ContextRound.objects.filter(pk=round.pk).update(summary="**Ferries** <script>alert(1)</script>")
    html = page(client, f"/c/{session.pk}/rounds/{round.number}")
    assert "<strong>Ferries</strong>" in html
    assert "<script>alert" not in html
    assert "kept word for word: 2 names and numbers" in html
    assert "<li>AB-123</li>" in html
    assert "<!doctype" not in page(client, f"/c/{session.pk}/rounds/{round.number}", hx_request="true")


def test_the_persons_text_replaces_the_summary(client, session):
    round = summarised(session)
    address = f"/c/{session.pk}/rounds/{round.number}/edit"
    assert "0. My ticket is AB-123" in page(client, address)
    assert client.post(address, {"summary": " "}).status_code == 422
    answer = client.post(address, {"summary": "Only the evening ferry."})
    assert answer.headers["location"] == f"/c/{session.pk}"
    html = page(client, f"/c/{session.pk}")
    assert "changed by you" in html
    assert "Saved. The model reads your text from your next message on." in html
    round.refresh_from_db()
    assert "Only the evening ferry." in round.text
    assert "Only the evening ferry." in page(client, f"/c/{session.pk}/context")


def test_in_place_the_form_is_followed_by_the_marker(client, session):
    round = summarised(session)
    address = f"/c/{session.pk}/rounds/{round.number}/edit"
    assert "data-edits-round" in page(client, address, hx_request="true")
    refused = client.post(address, {"summary": ""}, headers={"hx-request": "true"})
    assert "write something first" in refused.content.decode()
    saved = client.post(address, {"summary": "Ferries."}, headers={"hx-request": "true"})
    assert saved.content.decode().startswith('<div class="marker"')
    assert saved.headers["hx-reswap"] == "outerHTML"
    assert "rounds-changed" in saved.headers["hx-trigger"]


def test_undo_brings_the_messages_back(client, session):
    round = summarised(session)
    address = f"/c/{session.pk}/rounds/{round.number}"
    assert client.post(f"{address}/undo").headers["location"] == f"/c/{session.pk}"
    assert rounds_in_view(session).compact is None
    html = page(client, f"/c/{session.pk}")
    assert "data-round=" not in html
    assert "the model is sent the messages again" in html
    # It stays readable, and can be neither changed nor undone again.
    assert "Tell me more about the ferries" in page(client, address)
    assert client.get(f"{address}/edit").status_code == 404
    assert client.post(f"{address}/edit", {"summary": "x"}).status_code == 404
    assert client.post(f"{address}/undo").status_code == 302


def test_the_form_asks_for_a_summary_and_says_when_there_is_too_little(client, ada, session):
    address = f"/c/{session.pk}/compact"
    assert client.get(address).headers["location"] == f"/c/{session.pk}/context"
    asked = client.post(address, {"focus": "the evening", "next": "context"})
    assert asked.headers["location"] == f"/c/{session.pk}/context"
    html = page(client, f"/c/{session.pk}/context")
    assert html.count("A summary of earlier messages is being written.") == 2
    assert "you asked for it" in html
    assert session.context_rounds.get().focus == "the evening"
    short = send(ada, "Hello").message.session_id
    said = client.post(f"/c/{short}/compact", {"focus": "tea"}, headers={"hx-request": "true"}).content.decode()
    assert "There is too little to summarise" in said
    assert 'value="tea"' in said
    long = client.post(f"/c/{short}/compact", {"focus": "x" * 1001}, headers={"hx-request": "true"})
    assert "What to keep has 1,001 characters" in long.content.decode()


def test_the_panel_shows_the_summary_as_a_bar(client, session):
    summarised(session)
    html = page(client, f"/c/{session.pk}/context", hx_request="true")
    assert "<dt>Summary</dt>" in html
    assert "Summarise older messages now" in html


def test_a_stranger_sees_nothing(client, stranger, session):
    round = summarised(session)
    client.force_login(stranger)
    session_address = f"/c/{session.pk}"
    address = f"{session_address}/rounds/{round.number}"
    for path in (f"{session_address}/rounds", f"{session_address}/compact", address, f"{address}/edit"):
        assert client.get(path).status_code == 404
    assert client.post(f"{session_address}/compact", {"focus": "x"}).status_code == 404
    assert client.post(f"{address}/edit", {"summary": "x"}).status_code == 404
    assert client.post(f"{address}/undo").status_code == 404
    round.refresh_from_db()
    assert round.undone_at is None
    client.logout()
    assert client.get(address).status_code == 302


def test_what_does_not_exist_is_not_found(client, session):
    assert client.get(f"/c/{session.pk}/rounds/7").status_code == 404
    assert client.get(f"/c/{uuid.uuid4()}/rounds").status_code == 404
    asked = planning.ask(session)
    assert client.get(f"/c/{session.pk}/rounds/{asked.number}").status_code == 404
    assert client.get(f"/c/{session.pk}/rounds/{asked.number}/edit").status_code == 404
