"""What a turn costs the process that serves it: statements, and crossings from the event loop to a thread.

Counted from the frame `send` to the frame `done` of the last answer, which leaves when the end is committed. BEGIN and
COMMIT are not counted.
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
from oneclaw import llm, threads
from oneclaw.demo import scripted as model
from oneclaw.models import Space
from oneclaw.threads import in_database
from tests.chat.live.test_socket import Client, idle
from tests.conversations import send, settle

pytestmark = pytest.mark.django_db(transaction=True)


@dataclass
class Cost:
    """The statements of each crossing, in the order in which the crossings began."""

    crossings: list[tuple[str, list[str]]] = field(default_factory=list)

    @property
    def statements(self) -> int:
        return sum(len(statements) for _, statements in self.crossings)

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


async def turn_of(client, session, text):
    with counted() as cost:
        await client.say("send", client_id=str(uuid.uuid4()), session=str(session), text=text)
        await client.hear("done", final=True)
        during = Cost([(name, statements.copy()) for name, statements in cost.crossings])
        await idle()
        await asyncio.sleep(0.3)
    return during, cost


async def test_a_turn_takes_few_statements_and_crossings(ada, stranger, scripted):
    scripted.script(*[model.answer(model.text("Good **morning**")) for _ in range(4)])
    await in_database(warmed_up, ada, stranger)
    async with Client(ada) as client:
        session = await client.open()
        first, _ = await turn_of(client, session, "What does my cat Miso eat in the morning?")
        later, alls = await turn_of(client, session, "And in the evening, what does she eat?")
        print(first)
        print(later)
        print(alls)


def warmed_up(ada, stranger):
    """What a server has after its first day: the default agent, the facts of its model, and some memory of Ada."""
    settle(send(stranger))
    llm.facts_of(settings.MODEL)
    space = Space.objects.own_of(ada)
    apply(space, "MEMORY.md", Append("- Ada lives in Zurich."), Author(Source.PAGE, ada))
    apply(space, "memory/2026-11-20.md", Append("- Miso, the cat, eats tuna in the morning."), Author(Source.PAGE, ada))
