"""The rows that begin a turn, written by one statement: in a busy minute everybody waits for everybody's statements."""

from typing import Any
from uuid import UUID

from django.db import connection, models

from chat.models import ChatSession, Message, Turn

STANDING = """
    SELECT
        EXISTS (SELECT FROM chat_message WHERE session_id = %(session)s AND client_id = %(client_id)s)
            OR EXISTS (SELECT FROM chat_turn WHERE session_id = %(session)s AND status = 'running'),
        (SELECT id FROM chat_message WHERE session_id = %(session)s AND active ORDER BY seq DESC LIMIT 1)
"""
BEGIN = """
    WITH session AS (UPDATE chat_chatsession SET title = %s, last_seq = %s, active_at = %s WHERE id = %s),
        prompt AS ({prompt}), turn AS ({turn}), answer AS ({answer})
    SELECT prompt.id, turn.id, answer.id FROM prompt, turn, answer
"""


def standing(session: ChatSession, client_id: UUID) -> tuple[bool, int | None]:
    """Of a locked session: whether a turn runs or this client_id is known, and the last message that is shown."""
    if not session.last_seq:
        return False, None
    with connection.cursor() as cursor:
        cursor.execute(STANDING, {"session": session.pk, "client_id": client_id})
        return cursor.fetchone()


def begin(session: ChatSession, prompt: Message, turn: Turn, answer: Message) -> None:
    """Insert the three, which get their ids and point at one another, and save the session's place and title."""
    parts = [
        inserted(prompt),
        inserted(turn, prompt_id="prompt"),
        inserted(answer, parent_id="prompt", turn_id="turn"),
    ]
    statement = BEGIN.format(**dict(zip(("prompt", "turn", "answer"), (sql for sql, _ in parts), strict=True)))
    values: list[Any] = [session.title, session.last_seq, session.active_at, session.pk]
    with connection.cursor() as cursor:
        cursor.execute(statement, values + [value for _, own in parts for value in own])
        ids = cursor.fetchone()
    for row, pk in zip((prompt, turn, answer), ids, strict=True):
        row.pk, row._state.adding, row._state.db = pk, False, connection.alias
    turn.prompt = answer.parent = prompt
    answer.turn = turn


def insert_unless_there(row: models.Model) -> bool:
    """Insert a new row, unless one with its key or its id is there; whether it was inserted, and so is locked."""
    statement, values = inserted(row)
    with connection.cursor() as cursor:
        cursor.execute(statement.replace(" RETURNING ", " ON CONFLICT DO NOTHING RETURNING "), values)
        row._state.adding, row._state.db = cursor.fetchone() is None, connection.alias
    return not row._state.adding


def inserted(row: models.Model, **elsewhere: str) -> tuple[str, list[Any]]:
    """The INSERT of a new row, and its values. A column in `elsewhere` gets the id of that part of the statement."""
    columns, places, values = [], [], []
    for field in row._meta.concrete_fields:
        if field.primary_key and row.pk is None:
            continue
        columns.append(str(field.column))
        if field.column in elsewhere:
            places.append(f"(SELECT id FROM {elsewhere[field.column]})")  # noqa: S608 - names of ours
        else:
            places.append("%s")
            values.append(field.get_db_prep_save(field.pre_save(row, add=True), connection))
    names, places_of = ", ".join(columns), ", ".join(places)
    statement = f"INSERT INTO {row._meta.db_table} ({names}) VALUES ({places_of}) RETURNING id"  # noqa: S608 - as above
    return statement, values
