"""Indexes that another one begins with go (docs/decisions/database.md).

By name: Django, told of the fields alone, would drop unique constraints with a condition on the same columns with them.
"""

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


# Table, column, and the index that Django made for it.
INDEXES = [
    ("memory_memorydocument", "space_id", "memory_memorydocument_space_id_c45ca0e9"),
    ("memory_memoryrevision", "document_id", "memory_memoryrevision_document_id_14ac0947"),
    ("memory_flush", "session_id", "memory_flush_session_id_b0ea9a4f"),
    ("memory_forgottenline", "space_id", "memory_forgottenline_space_id_c7fad916"),
    ("memory_switchchoice", "user_id", "memory_switchchoice_user_id_024c4f40"),
    ("memory_decision", "revision_id", "memory_decision_revision_id_9fd1c417"),
    ("memory_agentspace", "agent_id", "memory_agentspace_agent_id_155f9b7d"),
]


class Migration(migrations.Migration):

    dependencies = [
        ('chat', '0013_fewer_indexes'),
        ('memory', '0014_layouts_by_index'),
        ('oneclaw', '0007_fewer_indexes'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.SeparateDatabaseAndState(
            state_operations=[
                migrations.AlterField(
                    model_name='agentspace',
                    name='agent',
                    field=models.ForeignKey(db_index=False, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='memories', to='chat.agent'),
                ),
                migrations.AlterField(
                    model_name='decision',
                    name='revision',
                    field=models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='decisions', to='memory.memoryrevision'),
                ),
                migrations.AlterField(
                    model_name='flush',
                    name='session',
                    field=models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='flushes', to='chat.chatsession'),
                ),
                migrations.AlterField(
                    model_name='forgottenline',
                    name='space',
                    field=models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='oneclaw.space'),
                ),
                migrations.AlterField(
                    model_name='memorydocument',
                    name='space',
                    field=models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='documents', to='oneclaw.space'),
                ),
                migrations.AlterField(
                    model_name='memoryrevision',
                    name='document',
                    field=models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='revisions', to='memory.memorydocument'),
                ),
                migrations.AlterField(
                    model_name='switchchoice',
                    name='user',
                    field=models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to=settings.AUTH_USER_MODEL),
                ),
            ],
            database_operations=[
                migrations.RunSQL(f"DROP INDEX {index}", f"CREATE INDEX {index} ON {table} ({column})")
                for table, column, index in INDEXES
            ],
        ),
    ]
