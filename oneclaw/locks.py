"""Locks that are held by name rather than by row: PostgreSQL's advisory locks."""

from django.db import connection


def hold(name: str, *, shared: bool = False) -> None:
    """Lock `name` until the end of this transaction, which must be open; wait while another transaction holds it.

    Several transactions may hold it `shared` at once; none holds it exclusively meanwhile.
    """
    function = "pg_advisory_xact_lock_shared" if shared else "pg_advisory_xact_lock"
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT {function}(hashtextextended(%s, 0))", [name])
