"""What a turn costs the process that serves it: statements, and crossings from the event loop to a thread.

Counted from the frame `send` to the commit of the end, after which the last answer is shown as finished; and what
follows that. BEGIN and COMMIT are not counted.
"""

import asyncio
import uuid
from contextlib import contextmanager
from dataclasses import dataclass, field
from unittest import mock

import pytest
from django.conf import settings
from django.db import connection

from memory.documents.write import Append, Author, Source, apply
from memory.files import recent_changes
from oneclaw import llm, pubsub, threads
from oneclaw.models import Space
from oneclaw.spend import budgets
from oneclaw.threads import in_database
from tests import scripted as model
from tests.chat.live.test_socket import Client, idle
from tests.conversations import send, settle

# (statements, crossings) until the end is committed. In a new conversation: session, agent, and all rows of the turn;
# the person's space with the switches, the lock against a forgetting, the files of the prompt, the head, what was
# recalled; and the end. A search that finds something takes two more, the documents of what it found a third, and the
# line under an answer that used it three: whose words they are, and when they were said (the goal stays 12).
NEW, NEW_WITH_RECALL = (9, 3), (15, 3)
# The session's lock, and all rows of the turn; session, messages, switches, versions of the curated memory, what was
# recalled; and the end.
LATER = (8, 3)
# Afterwards: the session, and what the receivers of turn_finished read; the newest answer that was counted among it.
AFTERWARDS = (7, 1)

pytestmark = pytest.mark.django_db(transaction=True)


@dataclass
class Cost:
    """The statements of each crossing, in the order in which the crossings began."""

    crossings: list[tuple[str, list[str]]] = field(default_factory=list)

    @property
    def statements(self) -> int:
        return sum(len(statements) for _, statements in self.crossings)

    @property
    def counts(self) -> tuple[int, int]:
        """Statements and crossings."""
        return self.statements, len(self.crossings)

    def __str__(self) -> str:
        lines = [f"{self.statements} statements in {len(self.crossings)} crossings"]
        for number, (name, statements) in enumerate(self.crossings, 1):
            lines += [f"-- {number}. {name}", *(" ".join(each.split())[:300] for each in statements)]
        return "\n".join(lines)


@contextmanager
def counted():
    """Count the calls of oneclaw/threads.py, by which async code reaches the database, and what they execute."""
    cost, in_thread = Cost(), threads._in_thread

    async def crossing(pool, call):
        statements: list[str] = []
        cost.crossings.append((name_of(call), statements))

        def count(execute, sql, params, many, context):
            statements.append(str(sql))
            return execute(sql, params, many, context)

        def called():
            with connection.execute_wrapper(count):
                return call()

        return await in_thread(pool, called)

    with mock.patch.object(threads, "_in_thread", crossing):
        yield cost


def name_of(call):
    """The name of the function that a crossing calls."""
    names = [cell.cell_contents for cell in call.__closure__ or () if callable(cell.cell_contents)]
    return ", ".join(getattr(each, "__qualname__", repr(each)) for each in names)


@pytest.fixture(autouse=True)
def quiet(settings, monkeypatch):
    """A short turn, with a folder that nobody has just touched."""
    settings.CHECKPOINT_SECONDS = 60
    monkeypatch.setattr(budgets.exists, "seconds", 3600)
    monkeypatch.setattr(recent_changes, "has_changed", lambda *_: False)


async def opened(client):
    """A new conversation, when the process has done everything that only its first socket costs."""
    session = await client.open()
    await pubsub.Listener.of_this_loop().connected.wait()
    await asyncio.sleep(0.2)
    return session


async def turn_of(client, session, text):
    """The cost of a turn until its end is committed, and what follows."""
    with counted() as cost:
        await client.say("send", client_id=str(uuid.uuid4()), session=str(session), text=text)
        await client.hear("done", final=True)
        await idle()
        # Were rows read because of a hint, it would be by now.
        await asyncio.sleep(0.2)
    ended = 1 + [name for name, _ in cost.crossings].index("finish_turn")
    return Cost(cost.crossings[:ended]), Cost(cost.crossings[ended:])


async def test_a_turn_takes_few_statements_and_crossings(ada, stranger, scripted):
    scripted.script(*[model.answer(model.text("Good **morning**"))] * 3)
    await in_database(warm_up, stranger)
    await in_database(Space.objects.own_of, ada)
    async with Client(ada) as client:
        session = await opened(client)
        new, _ = await turn_of(client, session, "What does my cat Miso eat in the morning?")
        later, afterwards = await turn_of(client, session, "And in the evening, what does she eat?")
        last, _ = await turn_of(client, session, "Is that what all cats eat in the evening?")
    assert new.counts <= NEW, new
    assert later.counts <= LATER, later
    assert last.counts <= LATER, last
    assert afterwards.counts <= AFTERWARDS, afterwards


async def test_what_is_recalled_takes_a_search_and_the_documents_of_what_it_finds(ada, stranger, scripted):
    scripted.script(*[model.answer(model.text("Tuna."))] * 2)
    await in_database(warm_up, stranger)
    await in_database(remember, ada)
    async with Client(ada) as client:
        session = await opened(client)
        new, _ = await turn_of(client, session, "What does my cat Miso eat in the morning?")
        later, _ = await turn_of(client, session, "And in the evening, what does she eat?")
    assert "eats tuna" in str(scripted.messages[0].body["messages"])
    assert new.counts <= NEW_WITH_RECALL, new
    assert later.counts <= LATER, later


def warm_up(person):
    """What a server knows after its first turn: the default agent, the facts of its model, that there is no budget."""
    settle(send(person))
    llm.facts_of(settings.MODEL)
    budgets.states_of(person)


def remember(person):
    space = Space.objects.own_of(person)
    apply(space, "MEMORY.md", Append("- Ada lives in Zurich."), Author(Source.PAGE, person))
    apply(
        space, "memory/2026-11-20.md", Append("- Miso, the cat, eats tuna in the morning."), Author(Source.PAGE, person)
    )
