"""The time that all processes share: the database's. Their own clocks may differ by minutes.

Leases, claims and due times, and what a sweep compares with a time in a row, go by it.
"""

import datetime as dt

from django.db import connection
from django.db.models.expressions import Combinable
from django.db.models.functions import Now


def database_now() -> Combinable:
    """Return the database's time at the start of the statement, as an expression.

    Tests that simulate time replace this function.
    """
    return Now()


def read_database_time() -> dt.datetime:
    """Return the database's time as it is now, by a query of its own."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT statement_timestamp()")
        return cursor.fetchone()[0]
