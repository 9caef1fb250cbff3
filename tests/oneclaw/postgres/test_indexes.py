"""What the database keeps up at each write is worth it."""

from django.apps import apps
from django.db import connection

OURS = {app.label for app in apps.get_app_configs() if app.name in ("oneclaw", "chat", "memory")}

# Indexes that another one begins with, and so can do without.
SPARE = """
SELECT spare.indexrelid::regclass::text
  FROM pg_index spare JOIN pg_index other ON other.indrelid = spare.indrelid AND other.indexrelid <> spare.indexrelid
  JOIN pg_class held ON held.oid = spare.indrelid
 WHERE NOT spare.indisunique AND spare.indpred IS NULL AND other.indpred IS NULL
   AND held.relname ~ %s
   -- By the same operators, which names that are looked for by their beginning have not.
   AND other.indkey::text || ' ' LIKE spare.indkey::text || ' %%'
   AND other.indclass::text || ' ' LIKE spare.indclass::text || ' %%'
"""


def test_no_index_is_the_beginning_of_another(db):
    with connection.cursor() as cursor:
        cursor.execute(SPARE, [f"^({'|'.join(OURS)})_"])
        spare = {name for (name,) in cursor.fetchall()}
    # Django makes some for the tables between two models, as between a user and groups.
    between = tuple(
        each._meta.db_table for each in apps.get_models(include_auto_created=True) if each._meta.auto_created
    )
    assert {name for name in spare if not name.startswith(between)} == set()


def test_every_constraint_and_index_of_the_models_is_there(db):
    for model in apps.get_models():
        if model._meta.app_label in OURS:
            with connection.cursor() as cursor:
                there = connection.introspection.get_constraints(cursor, model._meta.db_table)
            wanted = {each.name for each in [*model._meta.constraints, *model._meta.indexes]}
            assert wanted <= set(there), model
