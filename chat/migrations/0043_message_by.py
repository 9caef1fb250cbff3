"""Add to messages the columns of what is queried of their meta, which PostgreSQL computes."""

import django.db.models.fields.json
from django.db import migrations, models
from django.db.models.functions import Cast

# One statement, so that the table is written once; Django would write it for each column.
ADD_COLUMNS = """
ALTER TABLE chat_message
    ADD COLUMN by varchar(20) GENERATED ALWAYS AS (meta ->> 'by') STORED,
    ADD COLUMN author_number integer GENERATED ALWAYS AS ((meta #>> '{from,number}')::integer) STORED
"""
DROP_COLUMNS = "ALTER TABLE chat_message DROP COLUMN by, DROP COLUMN author_number"


class Migration(migrations.Migration):
    dependencies = [("chat", "0042_kinds_of_files")]

    operations = [
        migrations.RunSQL(
            ADD_COLUMNS,
            DROP_COLUMNS,
            state_operations=[
                migrations.AddField(
                    "message",
                    "by",
                    models.GeneratedField(
                        db_persist=True,
                        expression=django.db.models.fields.json.KT("meta__by"),
                        null=True,
                        output_field=models.CharField(max_length=20),
                    ),
                ),
                migrations.AddField(
                    "message",
                    "author_number",
                    models.GeneratedField(
                        db_persist=True,
                        expression=Cast(
                            django.db.models.fields.json.KT("meta__from__number"), models.IntegerField()
                        ),
                        null=True,
                        output_field=models.IntegerField(),
                    ),
                ),
            ],
        )
    ]
