from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('memory', '0032_foreign_text'),
        ('chat', '0038_tools_on'),
    ]

    operations = [
        migrations.AddField(
            model_name='transcriptchunk',
            name='file_id',
            field=models.UUIDField(blank=True, null=True),
        ),
        migrations.AlterField(
            model_name='switchchoice',
            name='switch',
            field=models.CharField(
                choices=[
                    ('saved', 'Saved memory'),
                    ('preloaded', 'Preloaded memory'),
                    ('recent', 'Recent conversations'),
                    ('recall', 'Recall'),
                    ('transcripts', 'Transcripts'),
                    ('reviews', 'Still true?'),
                ],
                max_length=20,
            ),
        ),
        # Conversations with files are indexed again, with the text of these.
        migrations.RunSQL(
            """
            UPDATE memory_transcriptindex SET due_at = statement_timestamp()
             WHERE session_id IN (SELECT session_id FROM chat_attachment WHERE text <> '' AND source IS NULL)
            """,
            migrations.RunSQL.noop,
        ),
    ]
