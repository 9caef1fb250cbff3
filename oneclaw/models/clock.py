"""The time that all processes share: the database's. Their own clocks may differ by minutes.

Leases, claims and due times, and what a sweep compares with a time in a row, go by it.
"""

import datetime as dt
from typing import Any

from django.db import connection
from django.db.models.expressions import Combinable
from django.db.models.functions import Now
from django.db.models.sql import Query


def database_now() -> Combinable:
    """Return the database's time at the start of the statement, as an expression.

    Tests that simulate time replace this function.
    """
    return Now()


def read_database_time() -> dt.datetime:
    """Return the database's time as it is now, by a query of its own."""
    compiler = Query(None).get_compiler(connection=connection)
    now: Any = database_now()
    sql, values = compiler.compile(now.resolve_expression(compiler.query))
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT {sql}", values)
        return cursor.fetchone()[0]
