"""The fast model's short answers: without thinking, with room, and never half of one."""

import json

import pytest

from memory.models import DocumentJob, Flush, MemoryDocument
from memory.notes import document_jobs, flush
from tests.scripted import answer, thinking

CUT = answer("- Ada moved to Ber", stop_reason="max_tokens")
ONLY_THINKING = answer(thinking("Let me see."), stop_reason="max_tokens")


@pytest.fixture
def noted(session, say, scripted):
    """The texts of all documents after one flush, and what it left to do, were tried."""
    say(session, "I moved to Bern.")

    def noted():
        flush.run(flush.request(session, "switched").pk)
        for job_id in DocumentJob.objects.due_ids():
            document_jobs.run(job_id)
        return list(MemoryDocument.objects.values_list("content", flat=True))

    return noted


@pytest.mark.parametrize("failing", [[CUT, CUT], [ONLY_THINKING, ONLY_THINKING], [answer()], [answer(" \n")]])
def test_cut_or_empty_notes_are_not_written_and_tried_again(noted, scripted, failing):
    scripted.script(*failing)
    assert noted() == []
    waiting = Flush.objects.get()
    assert (waiting.status, waiting.attempts) == ("queued", 1)
    assert "AnswerError" in waiting.error


@pytest.mark.parametrize("failing", [[CUT, CUT], [answer()]])
def test_a_cut_or_empty_summary_is_tried_again(noted, scripted, failing):
    scripted.script(answer("- Moved to Bern."), *failing)
    (log,) = noted()
    assert "- Moved to Bern." in log
    assert DocumentJob.objects.get().status == "queued"


def test_notes_that_need_more_room_get_it_once(noted, scripted):
    scripted.script(CUT, answer("- Ada moved to Bern."), answer(json.dumps({"title": "Bern", "summary": "Moved."})))
    log, recent = sorted(noted(), reverse=True)
    assert "Ada moved to Bern." in log + recent
    rooms = [each.body["max_tokens"] for each in scripted.messages]
    assert rooms[1] == 2 * rooms[0]
    assert (rooms[0], rooms[2]) == (4096, 2000)
    assert {each.body["thinking"]["type"] for each in scripted.messages} == {"disabled"}
