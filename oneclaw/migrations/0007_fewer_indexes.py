"""Indexes that another one begins with go (docs/decisions/database.md).

By name: Django, told of the fields alone, would drop unique constraints with a condition on the same columns with them.
"""

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


# Table, column, and the index that Django made for it.
INDEXES = [
    ("oneclaw_space", "owner_id", "oneclaw_space_owner_id_702ea6b4"),
    ("oneclaw_spacemember", "space_id", "oneclaw_spacemember_space_id_dd82e5f5"),
]


class Migration(migrations.Migration):

    dependencies = [
        ('oneclaw', '0006_api_keys'),
    ]

    operations = [
        migrations.SeparateDatabaseAndState(
            state_operations=[
                migrations.AlterField(
                    model_name='space',
                    name='owner',
                    field=models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='owned_spaces', to=settings.AUTH_USER_MODEL),
                ),
                migrations.AlterField(
                    model_name='spacemember',
                    name='space',
                    field=models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='members', to='oneclaw.space'),
                ),
            ],
            database_operations=[
                migrations.RunSQL(f"DROP INDEX {index}", f"CREATE INDEX {index} ON {table} ({column})")
                for table, column, index in INDEXES
            ],
        ),
    ]
