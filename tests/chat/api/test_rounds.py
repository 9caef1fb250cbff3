"""What the model is sent, and its summaries, over the API: read, asked for, corrected, undone, and never others'."""

import uuid

from chat.context.rounds import rounds_in_view
from tests.conversations import send, settle
from tests.programs import Program, refusal
from tests.summaries import conversation, summarised


def test_the_context_is_the_next_request_with_its_tokens(adas, ada):
    session = conversation(ada)
    summarised(session)
    found = adas.get(f"/sessions/{session.pk}/context").json()
    assert found["window_tokens"] == 200_000
    assert found["parts"].keys() >= {"instructions", "summary", "conversation"}
    assert sum(found["parts"].values()) == found["used_tokens"]
    assert found["request"]["messages"][0]["content"][0]["text"].startswith("This conversation is longer")


def test_a_summary_is_asked_for_read_corrected_and_undone(adas, ada):
    session = conversation(ada)
    address = f"/sessions/{session.pk}"
    asked = adas.post(f"{address}/compact", focus="the evening")
    assert asked.status_code == 202
    assert (asked.json()["state"], asked.json()["focus"], asked.json()["number"]) == ("making", "the evening", 1)
    assert refusal(adas.patch(f"{address}/rounds/1", summary="x")) == (409, "not_a_summary")
    assert adas.delete(f"{address}/rounds/1").status_code == 204
    round = summarised(session)
    first, second = adas.get(f"{address}/rounds").json()["items"]
    assert (first["state"], second["state"]) == ("stopped", "used")
    assert (second["maker"], second["reason"], second["kind"]) == ("extract", "command", "compact")
    assert second["through_seq"] == round.through.seq
    assert "AB-123" in second["kept"]
    changed = adas.patch(f"{address}/rounds/2", summary="Only the evening ferry.").json()
    assert (changed["summary"], changed["maker"]) == ("Only the evening ferry.", "person")
    assert refusal(adas.patch(f"{address}/rounds/2", summary=" ")) == (422, "empty")
    assert adas.delete(f"{address}/rounds/2").status_code == 204
    assert adas.delete(f"{address}/rounds/2").status_code == 204
    assert rounds_in_view(session).compact is None
    assert refusal(adas.patch(f"{address}/rounds/2", summary="x")) == (409, "not_a_summary")


def test_rounds_are_listed_page_by_page(adas, ada):
    session = conversation(ada)
    for _ in range(3):
        adas.post(f"/sessions/{session.pk}/compact", focus="")
        newest = session.context_rounds.order_by("number").last()
        adas.delete(f"/sessions/{session.pk}/rounds/{newest.number}")
    page = adas.get(f"/sessions/{session.pk}/rounds", limit=2).json()
    assert ([each["number"] for each in page["items"]], page["next"]) == ([1, 2], 2)
    page = adas.get(f"/sessions/{session.pk}/rounds", limit=2, after=2).json()
    assert ([each["number"] for each in page["items"]], page["next"]) == ([3], None)


def test_what_cannot_be_asked_for_is_refused(adas, ada):
    accepted = send(ada)
    settle(accepted)
    address = f"/sessions/{accepted.message.session_id}"
    assert refusal(adas.send("post", f"{address}/compact", {})) == (409, "nothing_to_compact")
    assert refusal(adas.post(f"{address}/compact", focus="x" * 1001)) == (422, "too_long")
    assert refusal(adas.patch(f"{address}/rounds/1", summary="x")) == (404, "not_found")
    assert refusal(adas.get(f"/sessions/{uuid.uuid4()}/context")) == (404, "not_found")


def test_a_stranger_finds_nothing(ada, stranger):
    session = conversation(ada)
    round = summarised(session)
    strangers, address = Program(stranger), f"/sessions/{session.pk}"
    assert refusal(strangers.get(f"{address}/context")) == (404, "not_found")
    assert refusal(strangers.get(f"{address}/rounds")) == (404, "not_found")
    assert refusal(strangers.post(f"{address}/compact", focus="x")) == (404, "not_found")
    assert refusal(strangers.patch(f"{address}/rounds/{round.number}", summary="x")) == (404, "not_found")
    assert refusal(strangers.delete(f"{address}/rounds/{round.number}")) == (404, "not_found")
    round.refresh_from_db()
    assert (round.undone_at, round.maker) == (None, "extract")
