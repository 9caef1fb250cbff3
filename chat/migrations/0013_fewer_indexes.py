"""Indexes that another one begins with go (docs/decisions/database.md).

By name: Django, told of the fields alone, would drop unique constraints with a condition on the same columns with them.
"""

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


# Table, column, and the index that Django made for it.
INDEXES = [
    ("chat_message", "session_id", "chat_message_session_id_9abc6edf"),
    ("chat_turn", "prompt_id", "chat_turn_prompt_id_73e6fe4f"),
    ("chat_chatsession", "owner_id", "chat_chatsession_owner_id_aec267f8"),
    ("chat_folder", "owner_id", "chat_folder_owner_id_d4ec739a"),
    ("chat_savedprompt", "owner_id", "chat_savedprompt_owner_id_384ba31b"),
    ("chat_messagefile", "message_id", "chat_messagefile_message_id_b6aab9ac"),
]


class Migration(migrations.Migration):

    dependencies = [
        ('chat', '0012_message_files'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.SeparateDatabaseAndState(
            state_operations=[
                migrations.AlterField(
                    model_name='chatsession',
                    name='owner',
                    field=models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='chat_sessions', to=settings.AUTH_USER_MODEL),
                ),
                migrations.AlterField(
                    model_name='folder',
                    name='owner',
                    field=models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='folders', to=settings.AUTH_USER_MODEL),
                ),
                migrations.AlterField(
                    model_name='message',
                    name='session',
                    field=models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='messages', to='chat.chatsession'),
                ),
                migrations.AlterField(
                    model_name='messagefile',
                    name='message',
                    field=models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='file_names', to='chat.message'),
                ),
                migrations.AlterField(
                    model_name='savedprompt',
                    name='owner',
                    field=models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='saved_prompts', to=settings.AUTH_USER_MODEL),
                ),
                migrations.AlterField(
                    model_name='turn',
                    name='prompt',
                    field=models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='attempts', to='chat.message'),
                ),
            ],
            database_operations=[
                migrations.RunSQL(f"DROP INDEX {index}", f"CREATE INDEX {index} ON {table} ({column})")
                for table, column, index in INDEXES
            ],
        ),
    ]
