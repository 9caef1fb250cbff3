"""What members have of shared conversations: their place in the list, and messages that wait."""

import django.db.models.deletion
import django.db.models.functions.datetime
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('chat', '0031_sessions_of_spaces'),
        ('oneclaw', '0009_groups'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='QueuedMessage',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('client_id', models.UUIDField()),
                ('text', models.TextField(blank=True)),
                ('files', models.JSONField(default=list)),
                ('model', models.CharField(blank=True, max_length=100, null=True)),
                ('effort', models.CharField(blank=True, max_length=100, null=True)),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
            ],
            options={
                'ordering': ['pk'],
            },
        ),
        migrations.CreateModel(
            name='SessionMember',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('read_seq', models.PositiveBigIntegerField(default=0)),
                ('pinned_at', models.DateTimeField(blank=True, null=True)),
                ('archived_at', models.DateTimeField(blank=True, null=True)),
            ],
        ),
        migrations.AddField(
            model_name='chatsession',
            name='shared_seq',
            field=models.PositiveBigIntegerField(db_default=0, default=0),
        ),
        migrations.AddField(
            model_name='turn',
            name='asked_by',
            field=models.ForeignKey(blank=True, db_index=False, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL),
        ),
        migrations.AddIndex(
            model_name='turn',
            index=models.Index(condition=models.Q(('asked_by__isnull', False)), fields=['asked_by'], name='turns_of_members'),
        ),
        migrations.AddField(
            model_name='queuedmessage',
            name='author',
            field=models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to=settings.AUTH_USER_MODEL),
        ),
        migrations.AddField(
            model_name='queuedmessage',
            name='session',
            field=models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='queue', to='chat.chatsession'),
        ),
        migrations.AddField(
            model_name='sessionmember',
            name='folder',
            field=models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to='chat.folder'),
        ),
        migrations.AddField(
            model_name='sessionmember',
            name='session',
            field=models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='people', to='chat.chatsession'),
        ),
        migrations.AddField(
            model_name='sessionmember',
            name='user',
            field=models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to=settings.AUTH_USER_MODEL),
        ),
        migrations.AddConstraint(
            model_name='queuedmessage',
            constraint=models.UniqueConstraint(fields=('session', 'client_id'), name='queued_once_per_client_id'),
        ),
        migrations.AddConstraint(
            model_name='sessionmember',
            constraint=models.UniqueConstraint(fields=('session', 'user'), name='member_once_per_session'),
        ),
    ]
