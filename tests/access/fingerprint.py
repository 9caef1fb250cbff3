"""What stands in the tables, so that a test can say that nothing has changed."""

from collections.abc import Collection

from django.apps import apps
from django.db import connection

# What every request writes: when a person or a program was here.
BY_ASKING = {"Presence", "ApiKey"}
# What those who may read write by it: what they have read, that they have exported something, and what is derived from
# a document when it is shown.
BY_READING = BY_ASKING | {"SessionMember", "AuditEvent", "AuditLink", "DocumentOverview"}


def fingerprint(uncounted: Collection[str] = BY_ASKING) -> dict[str, str]:
    """Return a hash of the rows of each table, by the name of its model, but of those that are `uncounted`."""
    models = [
        each
        for each in apps.get_models()
        if each._meta.app_label in ("chat", "memory", "oneclaw")
        and each._meta.managed
        and each.__name__ not in uncounted
    ]
    hashes = " UNION ALL ".join(
        f"SELECT '{each.__name__}', md5(string_agg(t::text, '|' ORDER BY t::text)) FROM {each._meta.db_table} t"
        for each in models
    )
    with connection.cursor() as cursor:
        cursor.execute(hashes)
        return dict(cursor.fetchall())
