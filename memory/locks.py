"""Locks that are held by name rather than by row."""

from django.db import connection


def hold(name: str) -> None:
    """Wait until nobody else holds `name`, and hold it to the end of this transaction, which must be open."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))", [name])
