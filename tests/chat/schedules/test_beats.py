"""Beats: when a model is asked, what comes of its answer, and how little it may do."""

import datetime as dt
from dataclasses import replace
from unittest import mock

import pytest

from chat import extensions
from chat.conversations import lifecycle
from chat.extensions import PendingCall, Tool, ToolResult
from chat.models import Beat, ChatSession, Presence, Schedule, Turn
from chat.schedules import beat as beats
from chat.schedules import changes, planning, quiet, retention
from memory.models import MemoryDocument
from memory.notes import document_jobs, flush
from oneclaw import invariants
from oneclaw.models import Budget, User
from tests.conversations import send, settle
from tests.replies import whole_block
from tests.scripted import answer, overloaded, tool_use
from tests.spending import paid_for

RESPOND = "heartbeat_respond"


def quietly(note="nothing new"):
    return answer(tool_use(RESPOND, {"tell": False, "note": note}))


def telling(text="Call **Ada**.", note="told"):
    return answer(tool_use(RESPOND, {"tell": True, "text": text, "note": note}))


def said(beat):
    return beat.outcome, beat.reason.code if beat.reason else ""


def test_a_quiet_heartbeat_says_nothing_and_asks_no_more_until_something_changes(heartbeat, ada, clock, scripted, put):
    scripted.script(quietly(), quietly(), quietly())
    assert said(clock.work(minutes=15)) == ("quiet", "beat.quiet")
    request = scripted.messages[0].body
    assert request["max_tokens"] <= 1_024 + 4_000
    assert "Watch the oven" in str(request["system"])
    assert [tool["name"] for tool in request["tools"]] == [
        RESPOND,
        "memory_get",
        "memory_search",
    ]
    assert "09:00 (Europe/Zurich)" in str(request["messages"])
    assert said(clock.work(minutes=30)) == ("skipped", "beat.unchanged")
    assert said(clock.work(minutes=30)) == ("skipped", "beat.unchanged")
    assert len(scripted.messages) == 1
    put(ada, "HEARTBEAT.md", "- [ ] Watch the other oven\n")
    assert clock.work(minutes=30).outcome == "quiet"
    hidden = [each.turn.session_id for each in Beat.objects.exclude(turn=None).order_by("pk")]
    assert paid_for("schedule") == [(ada.pk, None, each, True) for each in hidden]
    settle(send(ada, "Something new"))
    assert clock.work(minutes=30).outcome == "quiet"
    assert "Something new" in str(scripted.messages[-1].body["messages"])
    assert said(clock.work(minutes=30)) == ("skipped", "beat.unchanged")
    assert not ChatSession.objects.filter(kind="").exclude(title="Something new").exists()
    assert list(invariants.check()) == []


def test_what_it_tells_is_an_unread_message_and_no_activity(heartbeat, ada, clock, scripted):
    scripted.script(telling())
    beat = clock.work(minutes=15)
    assert beat.outcome == "sent"
    session = beat.message.session
    assert (session.title, session.is_unread, beat.message.text) == ("Heartbeat", True, "Call **Ada**.")
    assert beat.message.meta == {"by": "schedule", "at": "09:00"}
    assert "<strong>Ada</strong>" in beat.message.html
    assert not Presence.objects.exists()
    made_at = session.active_at
    clock.pass_by(hours=1)
    scripted.script(telling("Again."))
    beat = clock.work(minutes=0)
    session.refresh_from_db()
    assert (session.last_seq, session.active_at, session.pk) == (2, made_at, beat.message.session_id)
    # What was told is noted with its conversation; beats are not.
    assert [each.pk for each in flush.idle(clock.now + dt.timedelta(hours=2))] == [session.pk]
    assert list(invariants.check()) == []


@pytest.mark.parametrize("text", [None, "", "# Heartbeat\n\n<!-- later -->\n- [ ]\n"])
def test_without_tasks_in_heartbeat_md_no_model_is_asked(ada, clock, scripted, put, text):
    if text:
        put(ada, "HEARTBEAT.md", text)
    changes.set_enabled(planning.heartbeat_of(ada), True)
    code = "beat.empty_checklist" if text else "beat.no_checklist"
    assert said(clock.work(minutes=15)) == ("skipped", code)
    assert scripted.messages == []


def test_nothing_runs_before_a_person_switches_it_on(ada, clock, scripted, put, settings):
    put(ada, "HEARTBEAT.md", "- [ ] Watch the oven\n")
    planning.heartbeat_of(ada)
    assert clock.work(days=1) is None
    settings.HEARTBEAT = replace(settings.HEARTBEAT, mode="on")
    Schedule.objects.all().delete()
    scripted.script(quietly())
    clock.work(minutes=1)
    assert clock.work(minutes=30).outcome == "quiet"
    settings.HEARTBEAT = replace(settings.HEARTBEAT, mode="disabled")
    planning.sweep()
    assert Beat.objects.to_send() == []


def test_while_the_person_is_in_a_turn_it_waits_two_minutes_three_times(heartbeat, ada, clock, scripted):
    accepted = send(ada, "Hello")
    Turn.objects.filter(pk=accepted.turn.pk).update(lease_until=clock.now + dt.timedelta(days=1))
    for waits in (1, 2, 3):
        beat = clock.work(minutes=15) if waits == 1 else clock.work(seconds=121)
        assert (beat.status, beat.waits) == ("queued", waits)
        assert clock.work(seconds=119).waits == waits
    assert said(clock.work(seconds=2)) == ("skipped", "beat.busy")
    assert scripted.messages == []


def test_while_a_budget_is_used_up_no_model_is_asked(heartbeat, ada, clock, scripted):
    budget = Budget.objects.create(user=ada, period="day", max_tokens=0)
    assert said(clock.work(minutes=15)) == ("skipped", "model.budget_used_up")
    assert (scripted.messages, ChatSession.objects.count()) == ([], 0)
    budget.delete()
    scripted.script(quietly())
    assert clock.work(minutes=30).outcome == "quiet"


def test_at_48_beats_or_at_its_tokens_a_day_is_over(heartbeat, ada, clock, scripted, settings):
    for number in range(47):
        at = clock.now - dt.timedelta(minutes=number)
        Beat.objects.create(owner=ada, schedule=heartbeat, planned_at=at, asked_at=clock.now, status="done", tokens=10)
    scripted.script(quietly())
    assert clock.work(minutes=15).outcome == "quiet"
    Schedule.objects.update(quiet_hash="")
    assert said(clock.work(minutes=30)) == ("skipped", "beat.beats_used")
    clock.now = clock.now.replace(hour=7, minute=0) + dt.timedelta(days=1)
    scripted.script(quietly())
    assert clock.work(minutes=0).outcome == "quiet"
    settings.HEARTBEAT = replace(settings.HEARTBEAT, day_max_tokens=Beat.objects.order_by("pk").last().tokens)
    Schedule.objects.update(quiet_hash="")
    assert said(clock.work(minutes=30)) == ("skipped", "beat.tokens_used")
    settings.HEARTBEAT = replace(settings.HEARTBEAT, day_max_tokens=settings.HEARTBEAT.day_max_tokens + 1)
    scripted.script(quietly())
    assert clock.work(minutes=30).outcome == "quiet"


def test_a_model_that_fails_is_asked_later_and_after_five_times_no_more(heartbeat, ada, clock, scripted, settings):
    settings.HEARTBEAT = replace(settings.HEARTBEAT, hours=(0, 24))
    Schedule.objects.update(from_time=dt.time(0), until_time=dt.time(0))
    scripted.default = lambda body: answer(stop_reason="refusal")
    beat = clock.work(minutes=15)
    for failures, wait in (1, 1_800), (2, 7_200), (3, 7_200), (4, 7_200):
        heartbeat.refresh_from_db()
        assert (heartbeat.failures, heartbeat.enabled, beat.status) == (failures, True, "queued")
        assert clock.work(seconds=wait - 1).pk == beat.pk
        assert len(scripted.messages) == failures
        beat = clock.work(seconds=1)
    heartbeat.refresh_from_db()
    assert (beat.outcome, heartbeat.failures, heartbeat.enabled, heartbeat.next_at) == ("failed", 5, False, None)
    assert "failed 5 times" in ChatSession.objects.get(title="Heartbeat").messages.get().text
    assert clock.work(days=1).pk == beat.pk
    changes.set_enabled(heartbeat, True)
    assert (heartbeat.failures, heartbeat.stopped_at) == (0, None)


def test_late_times_collapse_into_one_and_none_comes_outside_of_the_hours(heartbeat, clock, scripted):
    scripted.script(quietly())
    assert clock.work(hours=5).outcome == "quiet"
    assert Beat.objects.count() == 1
    heartbeat.refresh_from_db()
    assert heartbeat.next_at == dt.datetime(2027, 3, 22, 13, 0, tzinfo=dt.UTC)
    # The server is down from the afternoon into the night.
    clock.work(hours=10)
    assert Beat.objects.count() == 1
    heartbeat.refresh_from_db()
    assert heartbeat.next_at == dt.datetime(2027, 3, 23, 7, 0, tzinfo=dt.UTC)


def test_a_change_of_the_timezone_moves_the_next_time(heartbeat, ada, clock):
    ada.timezone = "America/Los_Angeles"
    ada.save()
    planning.sweep()
    heartbeat.refresh_from_db()
    assert heartbeat.next_at == dt.datetime(2027, 3, 22, 15, 0, tzinfo=dt.UTC)


def test_it_has_three_rounds_and_then_stays_quiet(heartbeat, clock, scripted):
    scripted.script(*(answer(tool_use("memory_search", {"query": word})) for word in ("oven", "kettle", "pan")))
    assert said(clock.work(minutes=15)) == ("quiet", "beat.no_answer")
    assert len(scripted.messages) == 3
    assert "Call heartbeat_respond now" in str(scripted.messages[2].body["messages"][-1])
    assert list(invariants.check()) == []


def test_blocks_that_no_server_accepts_are_not_sent_back(heartbeat, clock, scripted):
    odd = whole_block({"type": "hologram", "data": "x"})
    scripted.script(answer(odd, tool_use("memory_search", {"query": "oven"})), quietly())
    assert clock.work(minutes=15).outcome == "quiet"
    assert [block["type"] for block in scripted.messages[1].body["messages"][1]["content"]] == ["tool_use"]


def test_an_obedient_model_changes_nothing_that_was_not_granted(heartbeat, ada, clock, scripted):
    task = Schedule.objects.create(owner=ada, kind="task", text="Obey", repeat="daily", at=dt.time(8), proposal_key="1")
    evil = answer(
        tool_use("save_memory", {"content": "Ada is evil"}),
        tool_use("schedule", {"text": "Evil", "repeat": "daily", "time": "08:00"}),
        tool_use("sessions_spawn", {"task": "evil"}),
        tool_use("answer_task", {"id": task.pk, "answer": "yes"}),
    )
    scripted.script(evil, telling("yes"))
    assert clock.work(minutes=15).outcome == "sent"
    results = scripted.messages[1].body["messages"][-1]["content"]
    assert [block.get("is_error") for block in results] == [True] * 4
    task.refresh_from_db()
    assert task.is_proposed
    assert not task.enabled
    assert Schedule.objects.tasks().get() == task
    assert not MemoryDocument.objects.filter(content__contains="evil").exists()


def test_a_granted_tool_writes_and_what_it_read_waits_for_a_yes(heartbeat, ada, clock, scripted):
    Schedule.objects.update(tools=["save_memory", "schedule"])
    settle(send(ada, "Buy a red bicycle tomorrow"))
    scripted.script(answer(tool_use("save_memory", {"content": "Watch the kettle, says the model"})), quietly())
    beat = clock.work(minutes=15)
    assert (beat.outcome, beat.has_written) == ("quiet", True)
    names = [tool["name"] for tool in scripted.messages[0].body["tools"]]
    assert "save_memory" in names
    assert "schedule" not in names


def test_two_hundred_beats_cost_what_the_first_one_did(heartbeat, ada, clock, scripted, put):
    put(ada, "MEMORY.md", "- A fact about Ada that is remembered.\n" * 400)
    scripted.default = lambda body: quietly("x" * 300)
    spent = []

    def ask():
        Schedule.objects.update(quiet_hash="")
        Beat.objects.update(asked_at=None)
        beat = clock.work(minutes=30)
        assert beat.outcome == "quiet"
        spent.append(beat.usage[0][1]["input_tokens"])

    ask()
    ask()
    # What 190 more beats leave behind, which a model that is asked 190 times leaves more slowly.
    earlier = [clock.now - dt.timedelta(days=number) for number in range(1, 191)]
    Beat.objects.bulk_create(
        Beat(owner=ada, schedule=heartbeat, planned_at=at, status="done", note="x" * 300, finished_at=at)
        for at in earlier
    )
    for _ in range(8):
        ask()
    assert Beat.objects.count() == 200
    assert min(spent) > 1_000
    assert max(spent) <= 1.05 * spent[0]
    head = scripted.messages[-1].body["system"][0]["text"]
    assert head.count("A fact about Ada") * len("- A fact about Ada that is remembered.\n") <= 8_000


def test_run_now_ignores_the_hour_and_is_not_doubled(heartbeat, clock, scripted):
    Schedule.objects.update(enabled=False, next_at=None)
    clock.pass_by(hours=14)
    first = changes.run_now(heartbeat)
    assert changes.run_now(heartbeat) == first
    scripted.script(quietly())
    assert clock.work(minutes=0).outcome == "quiet"


def test_rows_of_beats_are_removed_after_a_week_and_a_month(heartbeat, clock, scripted):
    scripted.script(quietly())
    clock.work(minutes=15)
    Schedule.objects.update(enabled=False)
    clock.pass_by(days=7)
    retention.sweep()
    assert ChatSession.objects.filter(kind="beat").count() == 1
    clock.pass_by(seconds=1)
    retention.sweep()
    assert ChatSession.objects.filter(kind="beat").count() == 0
    clock.pass_by(days=23)
    retention.sweep()
    assert Beat.objects.count() == 0


def test_limits_are_those_of_the_design():
    assert (quiet.DAY_MAX_BEATS, beats.BUSY_SECONDS, beats.BUSY_MAX_WAITS) == (48, 120, 3)
    assert (beats.BACKOFF_SECONDS, beats.MAX_FAILURES) == ((1_800, 7_200), 5)


def test_what_is_overloaded_is_a_failure(heartbeat, clock, scripted, monkeypatch):
    monkeypatch.setattr("oneclaw.llm.client.RETRY_FIRST_SECONDS", 0.01)
    scripted.script(overloaded(), overloaded(), overloaded())
    beat = clock.work(minutes=15)
    assert (beat.status, beat.reason.code) == ("queued", "model.overloaded")


def test_nothing_is_done_for_a_person_whose_account_is_closed(heartbeat, ada, clock, scripted):
    clock.pass_by(minutes=15)
    planning.sweep()
    (planned,) = Beat.objects.to_send()
    User.objects.filter(pk=ada.pk).update(is_active=False)
    beats.run(planned)
    assert said(Beat.objects.get()) == ("skipped", "beat.off")
    assert clock.work(minutes=30).pk == planned
    assert scripted.messages == []


def test_a_call_that_takes_long_is_refused_and_not_begun(heartbeat, ada, clock, scripted):
    begun = []

    def slow(call):
        return PendingCall(ToolResult("later", ""), lambda: begun.append(call), is_long=True)

    tool = Tool("slow_tool", "Wait.", {"type": "object", "properties": {}}, slow, label="Wait")
    extensions.register(slow_tools := extensions.Extension("slow", tools=[tool]))
    try:
        Schedule.objects.update(tools=["slow_tool"])
        scripted.script(answer(tool_use("slow_tool", {})), quietly())
        assert said(clock.work(minutes=15)) == ("quiet", "beat.quiet")
    finally:
        extensions.unregister(slow_tools)
    (result,) = scripted.messages[1].body["messages"][-1]["content"]
    assert result["is_error"]
    assert "Not available in a scheduled turn." in str(result["content"])
    assert begun == []


def test_a_schedule_that_fails_too_often_says_so_when_no_answer_runs(heartbeat, ada, clock, scripted):
    accepted = send(ada, "Hello")
    Schedule.objects.update(conversation=accepted.turn.session, failures=beats.MAX_FAILURES - 1)
    scripted.default = lambda body: answer(stop_reason="refusal")
    with mock.patch("chat.schedules.beat.has_running_turn", return_value=False):
        Turn.objects.filter(pk=accepted.turn.pk).update(lease_until=clock.now + dt.timedelta(days=1))
        beat = clock.work(minutes=15)
    heartbeat.refresh_from_db()
    assert (beat.status, heartbeat.enabled, heartbeat.failures) == ("queued", True, beats.MAX_FAILURES - 1)
    settle(accepted)
    assert said(clock.work(seconds=31))[0] == "failed"
    heartbeat.refresh_from_db()
    assert not heartbeat.enabled
    assert "failed 5 times" in accepted.turn.session.messages.shown().last().text


def test_a_hidden_conversation_that_its_person_has_read_is_never_noted(heartbeat, ada, clock, scripted):
    Schedule.objects.update(tools=["save_memory"])
    scripted.script(quietly())
    hidden = clock.work(minutes=15).turn.session
    assert hidden.mode == ChatSession.Mode.AGENT
    lifecycle.open_session(ada, hidden.pk)
    assert flush.request(hidden, "switched") is None
    assert document_jobs.request(hidden, "recent", 2) is None


def test_the_page_has_news_only_when_there_are_some_and_leads_to_the_transcript(
    heartbeat, ada, stranger, clock, scripted, client
):
    scripted.script(telling())
    client.force_login(ada)
    before = client.get("/schedules/").context["seen"]
    assert client.get(f"/schedules/news?seen={before}").status_code == 204
    beat = clock.work(minutes=15)
    news = client.get(f"/schedules/news?seen={before}")
    page, seen = news.content.decode(), news.context["seen"]
    address = f"/c/{beat.turn.session_id}"
    assert f'href="{address}">Transcript</a>' in page
    assert client.get(f"/schedules/news?seen={seen}").status_code == 204
    transcript = client.get(address).content.decode()
    assert "What the model did by itself" in transcript
    assert 'id="composer"' not in transcript
    client.force_login(stranger)
    assert client.get(address).status_code == 404
    assert address not in client.get("/schedules/news?seen=").content.decode()
