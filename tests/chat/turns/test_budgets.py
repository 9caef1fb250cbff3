"""Nobody begins a turn when a budget is used up; what works by itself waits until the next one."""

import datetime as dt
import uuid
from decimal import Decimal

import pytest
from django.utils import timezone

from chat.conversations import titles
from chat.models import ChatSession, Message
from memory.models import Flush
from memory.notes import flush
from oneclaw.models import Budget, BudgetWarning, Group, Spend
from oneclaw.spend.budgets import states_of, to_warn_of, used_up
from oneclaw.spend.calls import Payer, Spending
from oneclaw.threads import in_database
from tests import scripted as model
from tests.chat.live.test_socket import Client, idle
from tests.conversations import send, settle

pytestmark = pytest.mark.django_db(transaction=True)


def spent(user, tokens):
    """The person has used these tokens just now."""
    spending = Spending(Payer(Spend.Purpose.ANSWER, user.pk))
    spending.add("m", {"input_tokens": tokens})
    spending.store()


def of(user=None, group=None, period="month", tokens=1_000):
    return Budget.objects.create(user=user, group=group, period=period, max_tokens=tokens)


async def refusal(client, session):
    """The error frame of a message that is sent now."""
    client_id = str(uuid.uuid4())
    await client.say("send", client_id=client_id, session=str(session), text="And?")
    return await client.hear("error", client_id=client_id)


async def test_a_message_over_the_budget_is_not_stored_and_its_sender_is_told_when_to_go_on(ada, scripted):
    await in_database(of, ada, period="day", tokens=10)
    client_id = uuid.uuid4()
    async with Client(ada) as client:
        session = await client.open()
        # The turn that uses it up goes on to its end.
        await client.send(session, "Hello", client_id)
        await client.hear("done", final=True, status="complete")
        await idle()
        refused = await refusal(client, session)
        # Its reply was lost, and it is sent again.
        await client.send(session, "Hello", client_id)
    midnight = (timezone.now().astimezone(ada.zone) + dt.timedelta(days=1)).replace(hour=0, minute=0, second=0)
    assert refused["code"] == "budget_used_up"
    assert refused["text"].startswith("Your budget for today is used up. You can go on from ")
    assert 0 < refused["retry_after"] <= 25 * 3600
    assert abs(refused["retry_after"] - (midnight - timezone.now()).total_seconds()) < 60
    assert await in_database(Message.objects.filter(role="user").count) == 1


def test_a_program_is_refused_with_the_seconds(ada, adas, scripted):
    of(ada, tokens=10)
    spent(ada, 10)
    response = adas.post("/messages", text="Hello")
    assert (response.status_code, response.json()["code"]) == (429, "budget_used_up")
    assert int(response["Retry-After"]) > 0
    assert not Message.objects.exists()


@pytest.mark.parametrize("whose", ["group", "all"])
async def test_what_others_spend_counts_in_the_budget_of_a_group_and_of_all(ada, stranger, scripted, whose):
    def prepared():
        group = Group.objects.create(name="Research")
        group.members.create(user=ada)
        group.members.create(user=stranger)
        of(group=group if whose == "group" else None)
        # Nobody's own budget is used by others.
        of(ada)
        spent(stranger, 1_000)

    await in_database(prepared)
    async with Client(ada) as client:
        refused = await refusal(client, await client.open())
    assert refused["text"].startswith("Your group’s budget" if whose == "group" else "This server’s budget")


async def test_the_person_is_told_once_that_most_of_a_budget_is_used(ada, scripted):
    budget = await in_database(of, ada, tokens=1_000_000)
    await in_database(spent, ada, 850_000)
    async with Client(ada) as client:
        session = await client.open()
        await client.ask(session, "Hello")
        while not (told := [frame["html"] for frame in client.seen if frame.get("kind") == "budget"]):
            await client.say("ping")
            await client.hear("pong")
        assert told == ["85 % of your budget for this month is used."]
        client.seen.clear()
        await client.ask(session, "And?")
        await idle()
    assert not [frame for frame in client.seen if frame.get("kind") == "budget"]
    assert await in_database(BudgetWarning.objects.filter(budget=budget, user=ada).count) == 1


def test_notes_and_titles_wait_for_the_next_budget(ada, scripted):
    accepted = send(ada, "I moved to Bern.")
    settle(accepted)
    session = accepted.message.session
    ChatSession.objects.filter(pk=session.pk).update(title_due_at=timezone.now())
    budget = of(ada, tokens=10)
    spent(ada, 10)
    job = flush.request(session, "idle")
    for _ in range(7):
        Flush.objects.update(due_at=timezone.now())
        flush.run(job.pk)
        ChatSession.objects.update(title_due_at=timezone.now())
        titles.name_session(session.pk)
    assert not scripted.messages
    job.refresh_from_db()
    session.refresh_from_db()
    assert (job.status, job.attempts, session.title_tries) == ("queued", 0, 0)
    assert job.due_at > timezone.now() + dt.timedelta(seconds=30)
    assert session.title_due_at > timezone.now() + dt.timedelta(seconds=30)
    budget.delete()
    Flush.objects.update(due_at=timezone.now())
    scripted.script(model.answer("- Moved to Bern."))
    flush.run(job.pk)
    job.refresh_from_db()
    assert (job.status, job.summarised) == ("done", True)


@pytest.mark.parametrize(
    ("used", "outcome"), [(79, "free"), (80, "warned"), (99, "warned"), (100, "used up"), (150, "used up")]
)
def test_from_80_percent_on_they_are_warned_and_at_all_of_it_refused(ada, used, outcome):
    of(ada, tokens=100)
    spent(ada, used)
    states = states_of(ada)
    is_warned = to_warn_of(ada, states) is not None
    assert ("used up" if used_up(states) else "warned" if is_warned else "free") == outcome


def test_what_was_spent_before_the_period_does_not_count(ada):
    for period in ("day", "month"):
        of(ada, period=period)
    began = {state.budget.period: state.began for state in states_of(ada)}
    for moment in (began["day"], began["month"]):
        Spend.objects.create(user=ada, purpose="answer", model="m", input_tokens=7, at=moment - dt.timedelta(seconds=1))
        Spend.objects.create(user=ada, purpose="answer", model="m", input_tokens=100, at=moment)
    used = {state.budget.period: state.used_tokens for state in states_of(ada)}
    # On the first day of a month both begin at once.
    assert used == ({"day": 100, "month": 207} if began["day"] != began["month"] else {"day": 200, "month": 200})


def test_a_groups_budget_is_that_of_its_members_alone(ada, stranger):
    group = Group.objects.create(name="Research")
    group.members.create(user=ada)
    of(group=group)
    spent(stranger, 5_000)
    assert [state.used_tokens for state in states_of(ada)] == [0]
    assert states_of(stranger) == []
    spent(ada, 1_000)
    assert used_up(states_of(ada)) is not None
    group.members.all().delete()
    assert states_of(ada) == []


@pytest.mark.parametrize("whose", ["group", "all"])
def test_the_periods_of_a_group_and_of_all_begin_at_midnight_utc(whose):
    group = Group.objects.create(name="Research") if whose == "group" else None
    moment = dt.datetime.fromisoformat("2026-12-31T23:30+01:00")
    day, month = (of(group=group, period=period).period_at(moment) for period in ("day", "month"))
    assert [each.isoformat() for each in day] == ["2026-12-31T00:00:00+00:00", "2027-01-01T00:00:00+00:00"]
    assert [each.isoformat() for each in month] == ["2026-12-01T00:00:00+00:00", "2027-01-01T00:00:00+00:00"]


@pytest.mark.parametrize("act", ["retry", "continue", "edit"])
async def test_another_attempt_is_refused_too(ada, scripted, act):
    async with Client(ada) as client:
        session = await client.open()
        await client.ask(session, "Hello")
        await idle()
        await in_database(of, ada, tokens=1)
        last = await in_database(lambda: Message.objects.order_by("seq").last())
        first = await in_database(lambda: Message.objects.order_by("seq").first())
        if act == "edit":
            await client.say("edit", message=str(first.pk), client_id=str(uuid.uuid4()), text="Good morning")
        else:
            await client.say(act, message=str(last.pk))
        refused = await client.hear("error")
    assert refused["code"] == "budget_used_up"
    assert await in_database(Message.objects.count) == 2


@pytest.mark.parametrize(
    ("period", "at", "began", "ends"),
    [
        ("day", "2026-03-29T12:00+02:00", "2026-03-29T00:00+01:00", "2026-03-30T00:00+02:00"),
        ("month", "2026-12-31T23:59+01:00", "2026-12-01T00:00+01:00", "2027-01-01T00:00+01:00"),
    ],
)
def test_the_periods_of_a_person_are_those_of_their_clock(ada, period, at, began, ends):
    moments = [dt.datetime.fromisoformat(each) for each in (at, began, ends)]
    assert of(ada, period=period).period_at(moments[0], ada) == (moments[1], moments[2])


def test_a_budget_in_dollars_counts_what_has_a_price(ada, settings):
    Budget.objects.create(user=ada, period="month", max_cost=Decimal(2))
    spent(ada, 1_000_000)
    settings.PRICES = {"m": (1.5, 0, 0, 0)}
    spent(ada, 1_000_000)
    (state,) = states_of(ada)
    assert (state.used_cost, state.percent, state.is_used_up) == (Decimal("1.5"), 75, False)
    spent(ada, 400_000)
    assert used_up(states_of(ada)) is not None
