"""Locks that are held by name rather than by row."""

from django.db import connection


def hold(name: str, *, shared: bool = False) -> None:
    """Wait until nobody else holds `name`, and hold it to the end of this transaction, which must be open.

    Several may hold it `shared` at once, and nobody alone meanwhile.
    """
    function = "pg_advisory_xact_lock_shared" if shared else "pg_advisory_xact_lock"
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT {function}(hashtextextended(%s, 0))", [name])
