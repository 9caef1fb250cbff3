"""A saved line is compared with older ones afterwards, and the card asks the person about what is found."""

import datetime as dt
import json

import pytest
from django.utils import timezone

from chat.extensions import ToolCall
from chat.models import Message
from memory import tasks
from memory.documents import write
from memory.documents.write import Author, Replace, Source
from memory.models import Comparison, Decision, MemoryDocument, MemoryRevision
from memory.tools import comparisons, contradictions, decisions
from memory.tools.save_memory import SAVE
from memory.tools.saved import outcomes
from oneclaw import pubsub
from oneclaw.models import Budget
from tests.scripted import answer, bad_request, error, server_fault, thinking
from tests.spending import paid_for


@pytest.fixture
def save(session, django_capture_on_commit_callbacks):
    """save(content, id): the result of a call in the first message."""
    message = Message.objects.create(session=session, seq=1, role="assistant")

    def save(content, id):
        with django_capture_on_commit_callbacks(execute=True):
            return SAVE.call(ToolCall(id, "save_memory", {"content": content}, session.owner, session, message.pk))

    return save


@pytest.fixture
def job(save, scripted):
    """The comparison of the second of two lines that contradict each other."""
    save("Ada lives in Zurich.", "a")
    later()
    assert (Comparison.objects.get().status, scripted.messages) == ("nothing", [])
    save("Ada lives in Bern.", "b")
    assert scripted.messages == []
    return Comparison.objects.latest("pk")


def later():
    """Let the time pass until it is due, and do what a sweep would enqueue."""
    Comparison.objects.filter(status="queued").update(due_at=timezone.now() - dt.timedelta(seconds=1))
    for comparison_id in Comparison.objects.due_ids():
        tasks.compare_saved_line(comparison_id)


CUT = answer("1", stop_reason="max_tokens")


def test_a_line_that_contradicts_another_is_asked_about_after_the_call_has_its_result(job, save, scripted, monkeypatch):
    hints = []
    monkeypatch.setattr(pubsub, "notify", lambda topic, payload: hints.append((topic, payload)))
    scripted.script(answer("1"))
    later()
    job.refresh_from_db()
    decision = Decision.objects.get()
    assert (job.status, decision.kind, decision.revision_id) == ("done", "contradiction", job.revision_id)
    asked = scripted.messages[0].body["messages"][0]["content"]
    assert "Ada lives in Bern." in asked
    assert "1. - Ada lives in Zurich." in asked
    message = job.revision.message
    assert hints == [(f"session:{message.session_id}", {"kind": "updated", "message": str(message.pk)})]
    space_id, session_id = job.revision.space_id, message.session_id
    assert paid_for("contradictions") == [(job.owner_id, space_id, session_id, True)]
    # The same call once more saves nothing and asks nothing.
    save("Ada lives in Bern.", "b")
    later()
    assert (Decision.objects.count(), Comparison.objects.count()) == (1, 2)


def test_it_waits_while_a_budget_is_used_up(job, scripted):
    budget = Budget.objects.create(user=job.owner, period="day", max_tokens=0)
    for _ in range(5):
        later()
    job.refresh_from_db()
    assert (job.status, job.attempts, scripted.messages) == ("queued", 0, [])
    budget.delete()
    scripted.script(answer("1"))
    later()
    assert Decision.objects.get().revision_id == job.revision_id


def test_of_two_lines_saved_at_once_only_the_later_one_is_asked_about(save, scripted):
    scripted.script(answer("1"))
    save("Ada lives in Zurich.", "a")
    save("Ada lives in Bern.", "b")
    later()
    assert Decision.objects.get().revision == MemoryRevision.objects.latest("pk")
    assert len(scripted.messages) == 1


def test_it_waits_until_the_result_of_the_call_is_stored(job, scripted, session, monkeypatch):
    sent = []
    monkeypatch.setattr("oneclaw.tasks.send", lambda task, *arguments, **options: sent.append((arguments, options)))
    message = job.revision.message
    results = Message.objects.create(session=session, seq=2, role="tool", status="running", parent=message)
    later()
    job.refresh_from_db()
    assert (job.status, job.attempts, scripted.messages) == ("queued", 0, [])
    assert sent == [((job.pk,), {"countdown": comparisons.CALL_WAIT_SECONDS})]
    Message.objects.filter(pk=results.pk).update(status="complete")
    scripted.script(answer("1"))
    later()
    assert Decision.objects.count() == 1


@pytest.mark.parametrize("failing", [[bad_request()], [CUT, CUT], [answer(thinking("Hm."))]])
def test_what_the_model_cannot_say_is_asked_again(job, scripted, failing):
    scripted.script(*failing)
    later()
    job.refresh_from_db()
    assert (job.status, job.attempts, Decision.objects.count()) == ("queued", 1, 0)
    assert Comparison.objects.due_ids() == []
    scripted.script(answer("1"))
    later()
    job.refresh_from_db()
    assert (job.status, Decision.objects.get().revision_id) == ("done", job.revision_id)
    later()
    assert Decision.objects.count() == 1


@pytest.mark.parametrize("said", [answer("NONE"), answer("Line 1, I think"), answer("7")])
def test_without_a_clear_word_of_the_model_nothing_contradicts(job, scripted, said):
    scripted.script(said)
    later()
    job.refresh_from_db()
    assert (job.status, Decision.objects.count()) == ("nothing", 0)


def test_a_refused_key_is_not_a_contradiction(job, scripted):
    scripted.script(error(401, "x", "no"))
    later()
    assert Decision.objects.count() == 0


def test_nothing_is_asked_about_a_line_that_is_gone(job, scripted, ada, space):
    document = MemoryDocument.objects.get(path="MEMORY.md")
    write.apply(space, "MEMORY.md", Replace("- Ada lives in Zurich.\n", document.version), Author(Source.PAGE, ada))
    later()
    job.refresh_from_db()
    assert (job.status, scripted.messages) == ("nothing", [])


def test_after_many_failures_the_line_stays_as_it_is(job, scripted):
    scripted.default = lambda body: bad_request()
    for _ in range(Comparison.MAX_ATTEMPTS + 2):
        later()
    job.refresh_from_db()
    assert (job.status, job.attempts) == ("failed", Comparison.MAX_ATTEMPTS)
    assert "BadRequestError" in job.error


def test_the_model_is_asked_without_thinking_and_with_room(job, scripted):
    scripted.script(answer("NONE"))
    later()
    body = scripted.messages[0].body
    assert (body["thinking"], body["max_tokens"]) == ({"type": "disabled"}, 200)


def test_with_the_setting_off_nothing_is_compared(save, settings):
    settings.CONTRADICTIONS = False
    save("Ada lives in Zurich.", "a")
    assert not Comparison.objects.exists()


def test_a_worker_that_dies_leaves_the_comparison_to_the_sweep(job, scripted, monkeypatch):
    assert Comparison.objects.claim(job.pk) is not None
    Comparison.objects.update(lease_until=timezone.now() - dt.timedelta(seconds=1))
    sent = []
    monkeypatch.setattr(tasks.compare_saved_line, "apply_async", lambda arguments, **options: sent.append(arguments))
    tasks.sweep()
    assert sent == [(job.pk,)]
    scripted.script(server_fault(), answer("1"))
    tasks.compare_saved_line(job.pk)
    assert Decision.objects.get().revision == MemoryRevision.objects.latest("pk")


@pytest.fixture
def same(save, scripted):
    """The question about two lines that say the same in other words."""
    save("Prefers short answers.", "a")
    later()
    scripted.script(answer("1 same"))
    save("Wants it kept brief.", "b")
    later()
    return Decision.objects.get()


def test_the_same_in_other_words_is_offered_to_be_merged(same, ada, client):
    assert (same.kind, decisions.choices_of(same)) == ("same", ["merge", "both"])
    client.force_login(ada)
    card = outcomes([same.revision_id])[same.revision_id]["html"]
    assert "These lines say the same" in card
    assert 'value="merge"' in card
    client.post(f"/memory/decisions/{same.pk}", {"choice": "merge"})
    document = MemoryDocument.objects.get(path="MEMORY.md")
    assert document.content == "- Wants it kept brief.\n"
    same.refresh_from_db()
    merged = outcomes([same.revision_id])[same.revision_id]["html"]
    assert f"/memory/undo/{same.outcome_id}" in merged
    client.post(f"/memory/undo/{same.outcome_id}")
    document.refresh_from_db()
    assert document.content == "- Prefers short answers.\n- Wants it kept brief.\n"


def test_both_lines_that_say_the_same_may_stay(same, ada):
    before = MemoryDocument.objects.get(path="MEMORY.md").content
    decisions.decide(same, "both", ada)
    assert MemoryDocument.objects.get(path="MEMORY.md").content == before
    assert decisions.open_questions(ada) == []


@pytest.mark.parametrize(
    ("said", "kinds"),
    [
        ("1 same", ["same"]),
        ("1: contradicts", ["contradiction"]),
        ("1 Same.", ["same"]),
        ("1 narrower", []),
        ("1 unrelated", []),
        ("1 same, and more", []),
        ("7 same", []),
    ],
)
def test_what_the_model_says_of_two_lines(job, scripted, said, kinds):
    scripted.script(answer(said))
    later()
    assert list(Decision.objects.values_list("kind", flat=True)) == kinds


@pytest.mark.parametrize(
    ("known_lines", "kinds"),
    [
        ([{"line": 1, "relation": "same"}], ["same"]),
        ([{"line": 1, "relation": "contradicts"}], ["contradiction"]),
        ([{"line": 1, "relation": "narrower"}], []),
        ([{"line": 7, "relation": "same"}], []),
        ([{"line": True, "relation": "same"}, "1 same", {"line": 1}, {"line": 1, "relation": ["same"]}], []),
        ([], []),
        ("1 same", []),
    ],
)
def test_the_same_is_read_in_the_prescribed_form(job, official, known_lines, kinds):
    official.script(answer(json.dumps({"known_lines": known_lines})))
    later()
    assert list(Decision.objects.values_list("kind", flat=True)) == kinds
    assert official.messages[0].body["output_config"]["format"]["schema"] == contradictions.SCHEMA


def test_where_the_form_is_refused_the_model_answers_in_words(job, official):
    official.script(error(400, "invalid_request_error", "output_config.format: not available here"), answer("1 same"))
    later()
    assert Decision.objects.get().kind == "same"
    assert "format" not in official.messages[1].body.get("output_config", {})
