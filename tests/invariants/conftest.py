"""A small world in which everything has happened that conversations and memory know, and ways to break it."""

import copy
import shutil
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.db import connection, transaction
from django.test import TestCase, override_settings

from chat.conversations import presence, transcript
from chat.turns import retry
from memory.documents import write
from memory.documents.write import Append, Author, Delete, Source
from memory.index import conversations
from memory.models import TranscriptIndex
from memory.notes import flush
from oneclaw import invariants
from oneclaw.models import Space, User
from tests.conversations import FINISHED, TOOL_USE, abandon, send, settle
from tests.scripted import ScriptedModel, answer

RESULT = [{"type": "tool_result", "tool_use_id": "toolu_1", "content": "saved"}]
CARDS = {"toolu_1": {"state": "done", "summary": "", "lines": []}}


class World:
    """Rows by what they are. All is well in it."""

    def __init__(self, ada, stranger):
        self.ada, self.stranger = ada, stranger
        self.space, self.strangers_space = Space.objects.own_of(ada), Space.objects.own_of(stranger)
        with_tools = send(ada, "Remember that I like tea")
        self.session, self.message, self.turn = with_tools.turn.session, with_tools.message, with_tools.turn
        results = transcript.finish_round(self.turn, with_tools.answer, [TOOL_USE], **FINISHED)
        self.results = results
        self.calling = with_tools.answer
        following = transcript.finish_tools(self.turn, with_tools.answer, results, RESULT, CARDS)
        self.answer = transcript.finish_turn(
            self.turn, following, [{"type": "text", "text": "Yes"}], "complete", **FINISHED
        )

        stopped = send(ada, "And then?", self.session.pk)
        transcript.finish_turn(stopped.turn, stopped.answer, [{"type": "text", "text": "A"}, TOOL_USE], "stopped")
        self.retried = retry.repeat(ada, stopped.answer.pk, "retry")[0]
        abandon(self.retried)
        transcript.sweep()
        lost = send(ada, "More", self.session.pk)
        transcript.finish_round(lost.turn, lost.answer, [TOOL_USE], **FINISHED)
        abandon(lost.turn)
        transcript.sweep()
        presence.enter(ada, self.session)

        for _ in range(2):
            self.flush = flush.request(self.session, "switched")
            if self.flush is not None:
                flush.run(self.flush.pk)
        settle(send(ada, "Another day", self.session.pk))
        self.flush = flush.request(self.session, "switched")
        flush.run(self.flush.pk)
        self.transcript = TranscriptIndex.objects.get(pk=conversations.request(self.session))
        conversations.run(self.transcript.pk)
        self.running = send(ada, "Still running", self.session.pk)

        elsewhere = send(stranger, "Mine")
        settle(elsewhere)
        self.strangers_session, self.strangers_message = elsewhere.turn.session, elsewhere.message
        self.strangers_turn = elsewhere.turn
        for text in ("- tea\n", "- milk\n"):
            key = f"tool:{text}"
            self.revision = write.apply(
                self.space, "MEMORY.md", Append(text), Author(Source.TOOL, ada, operation_key=key)
            )
        self.document = self.revision.document
        gone = write.apply(self.strangers_space, "notes.md", Append("x\n"), Author(Source.PAGE, stranger))
        write.apply(self.strangers_space, "notes.md", Delete(1), Author(Source.PAGE, stranger))
        self.strangers_document = gone.document

    def named(self, sql):
        """`sql` with the ids of the rows that it names."""
        return sql.format(**{name: row.pk for name, row in vars(self).items() if hasattr(row, "pk")})


@pytest.fixture(scope="module")
def first_day(django_db_setup, django_db_blocker, tmp_path_factory) -> Iterator[tuple[World, Path]]:
    """The world and its files, made once: each test works in a savepoint of this transaction, on a copy of the files.

    No test of such a module may commit.
    """
    files = tmp_path_factory.mktemp("world")
    with django_db_blocker.unblock(), transaction.atomic():
        with ScriptedModel(answer("- Likes tea."), answer("- Went on.")) as model:
            own = override_settings(WORKSPACES=files, ANTHROPIC_API_KEY="test", ANTHROPIC_BASE_URL=model.url)
            with own, TestCase.captureOnCommitCallbacks(execute=True):
                world = World(*(User.objects.create_user(f"{name}@example.org") for name in ("ada", "stranger")))
        yield world, files
        transaction.set_rollback(True)


@pytest.fixture
def world(first_day, db, settings) -> World:
    world, files = first_day
    shutil.copytree(files, settings.WORKSPACES)
    return copy.deepcopy(world)


@pytest.fixture
def broken():
    """broken(sql, *parameters): what the invariants say once `sql` has run in a database without its guards."""

    def broken(sql, *parameters):
        with connection.cursor() as cursor:
            cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
            # No foreign keys and no triggers from here to the end of the test's transaction.
            cursor.execute("SET LOCAL session_replication_role = replica")
            cursor.execute(sql, [str(value) if isinstance(value, uuid.UUID) else value for value in parameters])
        return [str(violation) for violation in invariants.check()]

    return broken


@pytest.fixture
def without_constraint():
    """without_constraint(table, name): the database no longer guards this (to the end of the test)."""

    def without_constraint(table, name):
        with connection.cursor() as cursor:
            cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
            cursor.execute(f"ALTER TABLE {table} DROP CONSTRAINT IF EXISTS {name}")
            cursor.execute(f"DROP INDEX IF EXISTS {name}")

    return without_constraint
