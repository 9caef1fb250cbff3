"""Tasks at times: a person makes them, or a model proposes them and the person confirms."""

import contextlib
import datetime as dt
from dataclasses import replace

import pytest
from django.utils import translation

from chat import extensions
from chat.extensions import ToolCall, ToolError
from chat.models import Beat, ChatSession, Message, Schedule, default_agent
from chat.schedules import changes, planning, propose
from chat.schedules.changes import Options, TaskDraft
from chat.schedules.wording import sentence_of
from oneclaw.text import InvalidTextError
from tests.conversations import send, settle
from tests.scripted import answer, tool_use

MONDAY = {"text": "List my week", "repeat": "weekly", "time": "09:00", "days": ["monday"]}


def call(user, **given):
    session = ChatSession(owner=user, agent=default_agent())
    return ToolCall("toolu_1", "schedule", MONDAY | given, user, session, message_id=1)


def test_a_task_runs_at_its_time_and_tells(ada, clock, scripted):
    task = changes.save_task(ada, TaskDraft("List my week", "weekly", dt.time(9), [0]), Options())
    scripted.script(answer(tool_use("heartbeat_respond", {"tell": True, "text": "Nothing planned."})))
    clock.work(minutes=14)
    assert not Beat.objects.exists()
    beat = clock.work(minutes=1)
    assert (beat.outcome, beat.message.text) == ("sent", "Nothing planned.")
    assert "List my week" in str(scripted.messages[0].body["messages"])
    assert clock.work(days=6).pk == beat.pk
    scripted.script(answer("HEARTBEAT_OK"))
    assert clock.work(days=1).outcome == "quiet"
    task.refresh_from_db()
    assert task.next_at == dt.datetime(2027, 4, 5, 7, 0, tzinfo=dt.UTC)


def test_a_date_is_at_most_ten_years_ahead(ada, clock):
    assert changes.checked_task("Wait", "once", "09:00", [], "", "2037-03-01").on == dt.date(2037, 3, 1)
    for date in ("2037-06-01", "9999-12-31"):
        with pytest.raises(InvalidTextError):
            changes.checked_task("Wait", "once", "09:00", [], "", date)


@pytest.mark.parametrize("day", ["9" * 5000, "32", "-1", ""])
def test_a_day_of_the_month_is_a_short_number(day):
    with pytest.raises(InvalidTextError):
        changes.checked_task("Wait", "monthly", "09:00", [], day, "")


def test_a_task_at_one_time_does_not_run_again_after_a_move_to_the_west(ada, clock, scripted):
    changes.save_task(ada, TaskDraft("Now", "", dt.time(9), on=dt.date(2027, 3, 22)), Options())
    scripted.script(answer("Done."))
    first = clock.work(minutes=20)
    ada.timezone = "America/Los_Angeles"
    ada.save()
    assert clock.work(hours=12).pk == first.pk
    assert Beat.objects.count() == 1


def test_a_time_that_was_planned_already_is_planned_once(ada, clock):
    task = changes.save_task(ada, TaskDraft("Now", "", dt.time(9), on=dt.date(2027, 3, 22)), Options())
    Beat.objects.create(owner=ada, schedule=task, planned_at=task.next_at, status="done")
    clock.work(minutes=20)
    task.refresh_from_db()
    assert (Beat.objects.count(), task.next_at) == (1, None)


def test_a_task_at_one_time_runs_once(ada, clock, scripted):
    changes.save_task(ada, TaskDraft("Now", "", dt.time(9), on=dt.date(2027, 3, 22)), Options())
    scripted.script(answer("Done."))
    assert clock.work(minutes=20).outcome == "sent"
    assert clock.work(days=3).message.text == "Done."
    assert Beat.objects.count() == 1
    with pytest.raises(InvalidTextError, match="has passed"):
        changes.save_task(ada, TaskDraft("Now", "", dt.time(9), on=dt.date(2027, 3, 22)), Options())


def test_a_proposed_task_does_nothing_before_the_yes(ada, stranger, clock, scripted):
    result = propose.propose(call(ada))
    assert propose.propose(call(ada)).made == result.made
    task = Schedule.objects.get()
    assert clock.work(days=8) is None
    assert "Yes, schedule it" in propose.since([task.pk], "token")[task.pk]["html"]
    with pytest.raises(Schedule.DoesNotExist):
        changes.answer_proposal(stranger, task.pk, True)
    changes.answer_proposal(ada, task.pk, True)
    # A later no changes nothing.
    changes.answer_proposal(ada, task.pk, False)
    assert propose.since([task.pk], "token")[task.pk]["heading"] == "Scheduled a task"
    scripted.script(answer("Done."))
    assert clock.work(days=7).outcome == "sent"


def test_a_declined_task_never_runs(ada, clock, scripted):
    task_id = propose.propose(call(ada)).made
    changes.answer_proposal(ada, task_id, False)
    changes.answer_proposal(ada, task_id, True)
    assert clock.work(days=8) is None


@pytest.mark.parametrize(
    "given", [{"time": "8 o'clock"}, {"days": []}, {"repeat": "once", "date": "2027-03-01"}, {"repeat": "once"}]
)
def test_a_model_is_told_what_is_wrong_with_a_task(ada, clock, given):
    with pytest.raises(ToolError):
        propose.propose(call(ada, **given))
    assert not Schedule.objects.exists()


def test_ten_proposals_may_wait_and_fifty_tasks_may_be(ada, clock):
    for number in range(changes.MAX_PROPOSALS):
        Schedule.objects.create(owner=ada, kind="task", text="x", repeat="daily", at=dt.time(8), proposal_key=number)
    with pytest.raises(ToolError, match="Too many"):
        propose.propose(call(ada))
    draft = TaskDraft("x", "daily", dt.time(8))
    for _ in range(changes.MAX_TASKS):
        changes.save_task(ada, draft, Options())
    with pytest.raises(InvalidTextError, match="maximum"):
        changes.save_task(ada, draft, Options())
    with pytest.raises(InvalidTextError, match="maximum"):
        changes.answer_proposal(ada, Schedule.objects.proposed().first().pk, True)


def test_only_a_conversation_of_a_person_may_propose(ada, settings):
    session = ChatSession(owner=ada, agent=default_agent())
    offered = {tool.name for tool in extensions.tools_for(session)}
    assert "schedule" in offered
    assert "heartbeat_respond" not in offered
    for changed in ({"kind": "beat"}, {"kind": "sub"}, {"mode": "temporary"}, {"mode": "chat"}):
        other = ChatSession(owner=ada, agent=default_agent(), **changed)
        assert "schedule" not in {tool.name for tool in extensions.tools_for(other)}
    settings.HEARTBEAT = replace(settings.HEARTBEAT, mode="disabled")
    assert "schedule" not in {tool.name for tool in extensions.tools_for(session)}


def test_the_next_message_in_the_conversation_reads_what_was_told(ada, clock, scripted):
    changes.save_task(ada, TaskDraft("List my week", "daily", dt.time(9)), Options())
    scripted.script(answer("Nothing planned."))
    session = clock.work(minutes=15).message.session
    accepted = send(ada, "Thank you", session_id=session.pk)
    from chat.context.prompt import build_request

    sent = build_request(accepted.turn).messages
    assert [message["role"] for message in sent] == ["user", "assistant", "user"]
    settle(accepted)


def test_a_deleted_task_takes_its_history_and_leaves_what_it_told(ada, clock, scripted):
    task = changes.save_task(ada, TaskDraft("List my week", "daily", dt.time(9)), Options())
    scripted.script(answer("Nothing planned."))
    clock.work(minutes=15)
    changes.delete(task)
    assert not Beat.objects.exists()
    assert not ChatSession.objects.filter(kind="beat").exists()
    assert Message.objects.get().text == "Nothing planned."


@pytest.mark.parametrize(
    ("draft", "english", "german"),
    [
        (TaskDraft("x", "daily", dt.time(8)), "Every day at 08:00", "Jeden Tag um 08:00"),
        (TaskDraft("x", "weekly", dt.time(8), [0]), "Every Monday at 08:00", "Jeden Montag um 08:00"),
        (
            TaskDraft("x", "weekly", dt.time(8), [0, 3]),
            "Every Monday and Thursday at 08:00",
            "Jeden Montag und Donnerstag um 08:00",
        ),
        (TaskDraft("x", "weekly", dt.time(8), [0, 1, 2, 3, 4]), "Every weekday at 08:00", "Jeden Werktag um 08:00"),
        (
            TaskDraft("x", "monthly", dt.time(8), month_day=31),
            "On day 31 of every month at 08:00",
            "Am 31. jedes Monats um 08:00",
        ),
    ],
)
def test_the_times_are_a_sentence(draft, english, german):
    assert sentence_of(draft) == english
    with translation.override("de"):
        assert sentence_of(draft) == german


def test_pages_show_nothing_of_others(ada, stranger, client, clock):
    task = changes.save_task(ada, TaskDraft("A secret plan", "daily", dt.time(9)), Options())
    client.force_login(stranger)
    assert "secret plan" not in client.get("/schedules/").content.decode()
    for path in ("", "/beats", "/delete"):
        assert client.get(f"/schedules/{task.pk}{path}").status_code == 404
    for path in ("/run", "/switch", "/delete", "/answer"):
        assert client.post(f"/schedules/{task.pk}{path}").status_code == 404
    assert Schedule.objects.filter(pk=task.pk, enabled=True).exists()


@pytest.mark.parametrize(("minutes", "is_valid"), [(4, False), (5, True), (6, True), (1_440, True), (1_441, False)])
def test_a_heartbeat_comes_every_5_to_1440_minutes(ada, clock, minutes, is_valid):
    heartbeat = planning.heartbeat_of(ada)
    with contextlib.nullcontext() if is_valid else pytest.raises(InvalidTextError):
        changes.change_heartbeat(heartbeat, True, str(minutes), "08:00", "22:00")
    heartbeat.refresh_from_db()
    assert (heartbeat.every_minutes == minutes) == is_valid
