"""Named locks: PostgreSQL's advisory locks of a transaction."""

from django.db import connection


def hold(name: str, *, shared: bool = False) -> None:
    """Lock `name` until the end of this transaction, which must be open; wait while another transaction holds it.

    Several transactions may hold a `shared` lock at once, which excludes an exclusive one.
    """
    function = "pg_advisory_xact_lock_shared" if shared else "pg_advisory_xact_lock"
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT {function}(hashtextextended(%s, 0))", [name])
