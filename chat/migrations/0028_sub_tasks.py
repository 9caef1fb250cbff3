import django.db.models.deletion
import django.db.models.functions.datetime
from django.conf import settings
from django.db import migrations, models


# A sub-session of one person cannot be of the conversation of another, and a message of one cannot reach that of
# another.
COMPOSITE_KEYS = """
ALTER TABLE chat_subtask
    ADD CONSTRAINT sub_task_of_owners_session FOREIGN KEY (owner_id, session_id)
        REFERENCES chat_chatsession (owner_id, id) DEFERRABLE INITIALLY DEFERRED,
    ADD CONSTRAINT sub_task_of_owners_parent FOREIGN KEY (owner_id, parent_id)
        REFERENCES chat_chatsession (owner_id, id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE chat_relayedmessage
    ADD CONSTRAINT relayed_to_owners_session FOREIGN KEY (owner_id, target_id)
        REFERENCES chat_chatsession (owner_id, id) DEFERRABLE INITIALLY DEFERRED;
"""
NO_COMPOSITE_KEYS = """
ALTER TABLE chat_relayedmessage DROP CONSTRAINT relayed_to_owners_session;
ALTER TABLE chat_subtask DROP CONSTRAINT sub_task_of_owners_parent, DROP CONSTRAINT sub_task_of_owners_session;
"""


class Migration(migrations.Migration):

    dependencies = [
        ("chat", "0027_schedules"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='RelayedMessage',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('tool_use_id', models.CharField(max_length=200)),
                ('text', models.TextField(blank=True)),
                ('hops', models.PositiveSmallIntegerField()),
                ('state', models.CharField(choices=[('queued', 'Queued'), ('delivered', 'Delivered'), ('failed', 'Failed')], default='queued', max_length=10)),
                ('deadline', models.DateTimeField()),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('answer', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to='chat.message')),
                ('message', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to='chat.message')),
                ('owner', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('target', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to='chat.chatsession')),
                ('turn', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='relayed_messages', to='chat.turn')),
            ],
            options={
                'indexes': [models.Index(fields=['owner', 'created_at'], name='relayed_of_minute'), models.Index(condition=models.Q(('state', 'queued')), fields=['deadline'], name='relayed_queued')],
                'constraints': [models.UniqueConstraint(fields=('turn', 'tool_use_id'), name='one_relayed_message_per_call')],
            },
        ),
        migrations.CreateModel(
            name='SubTask',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('tool_use_id', models.CharField(max_length=200)),
                ('depth', models.PositiveSmallIntegerField()),
                ('state', models.CharField(choices=[('running', 'Running'), ('done', 'Done'), ('failed', 'Failed'), ('stopped', 'Stopped')], default='running', max_length=10)),
                ('error', models.JSONField(blank=True, null=True)),
                ('tokens', models.PositiveBigIntegerField(default=0)),
                ('token_budget', models.PositiveBigIntegerField()),
                ('deadline', models.DateTimeField()),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('finished_at', models.DateTimeField(blank=True, null=True)),
                ('answer', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to='chat.message')),
                ('brought_with', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to='chat.message')),
                ('owner', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('parent', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='sub_tasks', to='chat.chatsession')),
                ('root_turn', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='sub_tasks_below', to='chat.turn')),
                ('session', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, related_name='sub_task', to='chat.chatsession')),
                ('turn', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='sub_tasks', to='chat.turn')),
            ],
            options={
                'indexes': [models.Index(fields=['owner', 'created_at'], name='sub_tasks_of_day'), models.Index(condition=models.Q(('state', 'running')), fields=['deadline'], name='sub_tasks_running')],
                'constraints': [models.UniqueConstraint(fields=('turn', 'tool_use_id'), name='one_sub_task_per_call'), models.CheckConstraint(condition=models.Q(models.Q(('finished_at', None), ('state', 'running')), models.Q(models.Q(('state', 'running'), _negated=True), ('finished_at__isnull', False)), _connector='OR'), name='sub_task_ended_iff_not_running')],
            },
        ),
        migrations.RunSQL(COMPOSITE_KEYS, NO_COMPOSITE_KEYS),
    ]
