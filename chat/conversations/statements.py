"""The statements that begin and end a turn, and store the head of its requests. Each writes several rows, because under
load each statement waits."""

from collections.abc import Mapping, Sequence
from typing import Any

from django.db import connection, models
from django.db.models.expressions import Combinable, DatabaseDefault

from chat.models import ChatSession, Head, Message, Turn
from oneclaw import pubsub
from oneclaw.models import Space, User, clock
from oneclaw.spend.calls import Spends

# Nothing is written when the session has a running turn or the message, or was inserted by another process meanwhile.
BEGIN_TURN = """
    WITH session AS ({session}),
        prompt AS ({prompt}), turn AS ({turn}), answer AS ({answer}),
        presence AS (
            INSERT INTO chat_presence AS presence (user_id, session_id, seen_at, here)
            SELECT %s, session.id, statement_timestamp(), true FROM session, prompt
            ON CONFLICT (user_id)
            DO UPDATE SET session_id = excluded.session_id, seen_at = excluded.seen_at, here = true
        ){route}
    SELECT prompt.id, prompt.parent_id, turn.id, answer.id, statement_timestamp(),
        (SELECT count(pg_notify(%s, hint)) FROM unnest(%s::text[]) AS hint)
    FROM prompt, turn, answer
"""
# What a person writes in the current conversation of a route. The sweep looks at it at once, unless it knows already
# when to look next: what is written since moves a reset only further away.
WRITTEN_TO_ROUTE = """
    , route AS (
        UPDATE chat_sessionroute AS route
        SET last_person_at = {now}, started_at = coalesce(started_at, {now}), check_at = coalesce(check_at, {now})
        FROM session, prompt WHERE route.id = %s AND route.session_id = session.id
    )
"""
ADD_TO_SESSION = """
    UPDATE chat_chatsession SET title = %s, last_seq = %s, active_at = {active_at}
    WHERE id = %s
        AND NOT EXISTS (SELECT FROM chat_turn WHERE session_id = chat_chatsession.id AND status = 'running')
        AND NOT EXISTS (SELECT FROM chat_message WHERE session_id = chat_chatsession.id AND client_id = %s)
    RETURNING id
"""
LAST_SHOWN = """
    SELECT last.id FROM chat_message AS last
    WHERE last.session_id = session.id AND last.active ORDER BY last.seq DESC LIMIT 1
"""
# The columns of a row, its time of the end, and the notification.
UPDATE_MESSAGE = """
    WITH message AS (UPDATE chat_message SET {message} WHERE id = %s RETURNING finished_at){spends}
    SELECT finished_at, (SELECT count(pg_notify(%s, hint)) FROM unnest(%s::text[]) AS hint) FROM message
"""
# The turn is locked before its answer, the lock order of all writers.
END_TURN = """
    WITH turn AS (
            UPDATE chat_turn SET {turn} WHERE id = %s AND holder = %s AND status = 'running' RETURNING id, finished_at
        ),
        answer AS (
            UPDATE chat_message SET {answer}, finished_at = turn.finished_at FROM turn WHERE chat_message.id = %s
        ){spends}
    SELECT turn.finished_at, (SELECT count(pg_notify(%s, hint)) FROM unnest(%s::text[]) AS hint) FROM turn
"""
# The id of a row, or NULL when it is not there any more.
FOUND = "(SELECT id FROM {table} WHERE id = {id:d})"
# The number is read by the statement that writes it, under the lock of the session.
ADD_HEAD = """
    WITH newest AS (SELECT coalesce(max(number), 0) AS number FROM chat_head WHERE session_id = %s),
        head AS ({head}),
        session AS (UPDATE chat_chatsession SET head_id = head.id FROM head WHERE chat_chatsession.id = %s)
    SELECT id, number, reason, created_at FROM head
"""
REASON_WITHOUT_HEAD = "CASE newest.number WHEN 0 THEN 'first' ELSE 'forgotten' END"


def begin_turn(
    session: ChatSession, prompt: Message, turn: Turn, answer: Message, notifications: Sequence[pubsub.Hint]
) -> bool:
    """Insert the three rows and the session if it is new, set their ids and references, save the session's `last_seq`,
    `active_at` and title, make it its author's current one, and send `notifications`.

    Return False, with nothing written, when the session has a running turn or a message with this `client_id`, or when
    another process has inserted it meanwhile.
    """
    if session._state.adding:
        first, values = insert_statement(session, on_conflict="ON CONFLICT DO NOTHING")
    else:
        active_at, active_values = sql_of(session.active_at)
        first = ADD_TO_SESSION.format(active_at=active_at)
        values = [session.title, session.last_seq, *active_values, session.pk, prompt.client_id]
    parts = [
        insert_statement(prompt, "session", parent_id=f"({LAST_SHOWN})", returning="id, parent_id"),
        insert_statement(turn, "prompt", prompt_id="prompt.id"),
        insert_statement(answer, "prompt, turn", parent_id="prompt.id", turn_id="turn.id"),
    ]
    statements = dict(zip(("prompt", "turn", "answer"), (sql for sql, _ in parts), strict=True))
    values += [value for _, own in parts for value in own]
    route, route_values = written_to_route(session, prompt)
    values += [prompt.author_id or session.owner_id, *route_values, pubsub.CHANNEL, pubsub.encoded(notifications)]
    with connection.cursor() as cursor:
        cursor.execute(BEGIN_TURN.format(session=first, route=route, **statements), values)
        found = cursor.fetchone()
    if found is None:
        return False
    prompt.pk, prompt.parent_id, turn.pk, answer.pk, began_at, _ = found
    prompt.created_at = turn.started_at = answer.created_at = began_at
    for row in (session, prompt, turn, answer):
        row._state.adding, row._state.db = False, connection.alias
    turn.prompt = answer.parent = prompt
    answer.turn = turn
    return True


def written_to_route(session: ChatSession, prompt: Message) -> tuple[str, list[Any]]:
    """Return the part of BEGIN_TURN that records in the route of `session` that a person has written, and its values;
    nothing for a conversation without a route, and for a message that no person wrote."""
    if session.route_id is None or not prompt.is_by_person:
        return "", []
    now, values = sql_of(clock.database_now())
    return WRITTEN_TO_ROUTE.format(now=now), [*values, *values, *values, session.route_id]


def end_turn(
    turn: Turn,
    answer: Message,
    ended: Mapping[str, Any],
    written: Mapping[str, Any],
    spends: Spends,
    notifications: Sequence[pubsub.Hint],
) -> bool:
    """Write the columns `ended` of `turn` and `written` of its last `answer`, both with the time as `finished_at`, set
    them in both, insert `spends`, and send `notifications`.

    Return False, with nothing written, when this process does not hold the running turn any more.
    """
    own, own_values = assignments(turn, {**ended, "finished_at": clock.database_now()})
    said, said_values = assignments(answer, written)
    cost, cost_values = inserted_spends(spends, "turn")
    values = [*own_values, turn.pk, turn.holder, *said_values, answer.pk, *cost_values]
    values += [pubsub.CHANNEL, pubsub.encoded(notifications)]
    with connection.cursor() as cursor:
        cursor.execute(END_TURN.format(turn=own, answer=said, spends=cost), values)
        found = cursor.fetchone()
    if found is None:
        return False
    for row, columns in ((turn, ended), (answer, written)):
        for name, value in columns.items():
            setattr(row, name, value)
        row.finished_at = found[0]
    return True


def update_message(
    message: Message, columns: Mapping[str, Any], notifications: Sequence[pubsub.Hint], spends: Spends = ()
) -> None:
    """Write these columns of `message`, set them in it, insert `spends`, and send `notifications`; a time may be an
    expression."""
    assigned, values = assignments(message, columns)
    cost, cost_values = inserted_spends(spends, "message")
    with connection.cursor() as cursor:
        cursor.execute(
            UPDATE_MESSAGE.format(message=assigned, spends=cost),
            [*values, message.pk, *cost_values, pubsub.CHANNEL, pubsub.encoded(notifications)],
        )
        found = cursor.fetchone()
    for name, value in columns.items():
        setattr(message, name, value)
    if found is not None:
        message.finished_at = found[0]


def inserted_spends(spends: Spends, source: str) -> tuple[str, list[Any]]:
    """Return the parts of a statement that insert `spends` if its part `source` has a row, and their values.

    A person or a space that has gone while the model was asked does not keep the answer from being stored.
    """
    parts, values = [], []
    for number, spend in enumerate(spends):
        kept = {"user_id": (User, spend.user_id), "space_id": (Space, spend.space_id)}
        found = {column: FOUND.format(table=model._meta.db_table, id=id) for column, (model, id) in kept.items() if id}
        sql, own = insert_statement(spend, source, on_conflict="ON CONFLICT DO NOTHING", **found)
        parts.append(f", spend_{number} AS ({sql})")
        values += own
    return "".join(parts), values


def add_head(session: ChatSession, head: Head) -> None:
    """Insert `head` with the next number of the locked `session`, which gets it.

    Without an earlier head it is the first one, or replaces one of which a line was forgotten.
    """
    reasons = {} if session.head_id else {"reason": REASON_WITHOUT_HEAD}
    returning = "id, number, reason, created_at"
    statement, values = insert_statement(head, "newest", returning=returning, number="newest.number + 1", **reasons)
    with connection.cursor() as cursor:
        cursor.execute(ADD_HEAD.format(head=statement), [session.pk, *values, session.pk])
        head.pk, head.number, head.reason, head.created_at = cursor.fetchone()
    head._state.adding, head._state.db = False, connection.alias


def insert_statement(
    row: models.Model, source: str = "", *, on_conflict: str = "", returning: str = "id", **references: str
) -> tuple[str, list[Any]]:
    """Return the INSERT statement of a new row and its values, once for each row of `source`, the parts of BEGIN_TURN.

    A column in `references` gets this expression about them.
    """
    columns, placeholders, values = [], [], []
    for field in row._meta.concrete_fields:
        if (field.primary_key and row.pk is None) or field.generated:
            continue
        value = field.pre_save(row, add=True)
        if field.column not in references and isinstance(value, DatabaseDefault):
            # Left out, the column gets its default.
            continue
        columns.append(str(field.column))
        if field.column in references:
            placeholders.append(references[field.column])
        else:
            placeholder, own = sql_of(field.get_db_prep_save(value, connection))
            placeholders.append(placeholder)
            values += own
    names, items = ", ".join(columns), ", ".join(placeholders)
    rows = f"SELECT {items} FROM {source}" if source else f"VALUES ({items})"  # noqa: S608 - names of ours
    return f"INSERT INTO {row._meta.db_table} ({names}) {rows} {on_conflict} RETURNING {returning}", values


def assignments(row: models.Model, columns: Mapping[str, Any]) -> tuple[str, list[Any]]:
    """Return the assignments of an UPDATE statement that writes these columns of `row`, and their values."""
    parts, values = [], []
    for name, value in columns.items():
        field: models.Field[Any, Any] = row._meta.get_field(name)  # type: ignore[assignment]
        placeholder, own = sql_of(field.get_db_prep_save(value, connection))
        parts.append(f"{field.column} = {placeholder}")
        values += own
    return ", ".join(parts), values


def sql_of(value: Any) -> tuple[str, list[Any]]:
    """Return the SQL and the parameters of a column's value, which may be an expression such as the database's time."""
    if not isinstance(value, Combinable):
        return "%s", [value]
    sql, values = ChatSession.objects.all().query.get_compiler(connection=connection).compile(value)
    return sql, list(values)
