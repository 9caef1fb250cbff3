"""INSERT statements. The rows that begin a turn are written by one of them, because under load each statement waits."""

from typing import Any

from django.db import connection, models
from django.db.models.expressions import Combinable

from chat.models import ChatSession, Message, Turn

BEGIN_TURN = """
    WITH session AS (UPDATE chat_chatsession SET title = %s, last_seq = %s, active_at = {active_at} WHERE id = %s),
        prompt AS ({prompt}), turn AS ({turn}), answer AS ({answer})
    SELECT prompt.id, turn.id, answer.id FROM prompt, turn, answer
"""


def insert_turn(session: ChatSession, prompt: Message, turn: Turn, answer: Message) -> None:
    """Insert the three rows, set their ids and references, and save the session's `last_seq`, `active_at` and title."""
    parts = [
        insert_statement(prompt),
        insert_statement(turn, prompt_id="prompt"),
        insert_statement(answer, parent_id="prompt", turn_id="turn"),
    ]
    statements = dict(zip(("prompt", "turn", "answer"), (sql for sql, _ in parts), strict=True))
    active_at, active_values = sql_of(session.active_at)
    statement = BEGIN_TURN.format(**statements, active_at=active_at)
    values: list[Any] = [session.title, session.last_seq, *active_values, session.pk]
    with connection.cursor() as cursor:
        cursor.execute(statement, values + [value for _, own in parts for value in own])
        ids = cursor.fetchone()
    for row, pk in zip((prompt, turn, answer), ids, strict=True):
        row.pk, row._state.adding, row._state.db = pk, False, connection.alias
    turn.prompt = answer.parent = prompt
    answer.turn = turn


def insert_if_absent(row: models.Model) -> bool:
    """Insert the new `row` unless its key or id exists; return whether it was inserted, and is therefore locked."""
    statement, values = insert_statement(row, on_conflict="ON CONFLICT DO NOTHING")
    with connection.cursor() as cursor:
        cursor.execute(statement, values)
        row._state.adding, row._state.db = cursor.fetchone() is None, connection.alias
    return not row._state.adding


def insert_statement(row: models.Model, *, on_conflict: str = "", **references: str) -> tuple[str, list[Any]]:
    """Return the INSERT statement of a new row and its values.

    A column in `references` gets the id of the part of BEGIN_TURN that it names.
    """
    columns, placeholders, values = [], [], []
    for field in row._meta.concrete_fields:
        if field.primary_key and row.pk is None:
            continue
        columns.append(str(field.column))
        if field.column in references:
            placeholders.append(f"(SELECT id FROM {references[field.column]})")  # noqa: S608 - names of ours
        else:
            placeholder, own = sql_of(field.get_db_prep_save(field.pre_save(row, add=True), connection))
            placeholders.append(placeholder)
            values += own
    names, items = ", ".join(columns), ", ".join(placeholders)
    statement = f"INSERT INTO {row._meta.db_table} ({names}) VALUES ({items}) {on_conflict} RETURNING id"  # noqa: S608
    return statement, values


def sql_of(value: Any) -> tuple[str, list[Any]]:
    """Return the SQL and the parameters of a column's value, which may be an expression such as the database's time."""
    if not isinstance(value, Combinable):
        return "%s", [value]
    sql, values = ChatSession.objects.all().query.get_compiler(connection=connection).compile(value)
    return sql, list(values)
