"""Files that people attach to messages."""

import django.db.models.deletion
import django.utils.timezone
import uuid
from django.conf import settings
from django.db import migrations, models


# Deferred like Django's own foreign keys, so that a cascade may delete in any order.
OWN_SESSIONS = """
ALTER TABLE chat_attachment
    ADD CONSTRAINT attachment_in_owners_session FOREIGN KEY (owner_id, session_id)
        REFERENCES chat_chatsession (owner_id, id) DEFERRABLE INITIALLY DEFERRED;
"""
ANY_SESSIONS = "ALTER TABLE chat_attachment DROP CONSTRAINT attachment_in_owners_session;"


class Migration(migrations.Migration):

    dependencies = [
        ('chat', '0009_agents_models_prompts'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='Attachment',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('name', models.CharField(max_length=120)),
                ('kind', models.CharField(choices=[('image', 'Image'), ('pdf', 'Pdf'), ('docx', 'Docx'), ('text', 'Text')], max_length=5)),
                ('media_type', models.CharField(max_length=100)),
                ('size', models.PositiveBigIntegerField()),
                ('sha256', models.CharField(max_length=64)),
                ('text', models.TextField(blank=True)),
                ('width', models.PositiveIntegerField(default=0)),
                ('height', models.PositiveIntegerField(default=0)),
                ('pages', models.PositiveIntegerField(default=0)),
                ('small_type', models.CharField(blank=True, max_length=100)),
                ('small_size', models.PositiveBigIntegerField(default=0)),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('message', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='attachments', to='chat.message')),
                ('owner', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='attachments', to=settings.AUTH_USER_MODEL)),
                ('session', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to='chat.chatsession')),
            ],
            options={
                'indexes': [models.Index(condition=models.Q(('message', None)), fields=['created_at'], name='attachment_unsent')],
            },
        ),
        migrations.RunSQL(OWN_SESSIONS, ANY_SESSIONS),
    ]
