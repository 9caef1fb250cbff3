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
from oneclaw.demo import scripted as model
from oneclaw.models import Budget, BudgetWarning, Group, Spend
from oneclaw.spend.calls import Payer, Spending
from oneclaw.threads import in_database
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
    from oneclaw.spend.budgets import states_of

    Budget.objects.create(user=ada, period="month", max_cost=Decimal(2))
    spent(ada, 1_000_000)
    settings.PRICES = {"m": (1.5, 0, 0, 0)}
    spent(ada, 1_000_000)
    (state,) = states_of(ada)
    assert (state.used_cost, state.percent, state.is_used_up) == (Decimal("1.5"), 75, False)
