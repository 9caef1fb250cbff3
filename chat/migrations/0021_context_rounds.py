import django.db.models.deletion
import django.db.models.functions.datetime
import django.utils.timezone
from django.conf import settings
from django.db import migrations, models


# A round of one person cannot be of the session of another.
COMPOSITE_KEY = """
ALTER TABLE chat_contextround
    ADD CONSTRAINT context_round_of_owners_session FOREIGN KEY (owner_id, session_id)
        REFERENCES chat_chatsession (owner_id, id) DEFERRABLE INITIALLY DEFERRED;
"""
NO_COMPOSITE_KEY = "ALTER TABLE chat_contextround DROP CONSTRAINT context_round_of_owners_session;"


class Migration(migrations.Migration):

    dependencies = [
        ('chat', '0020_head_sections'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.AddField(
            model_name='chatsession',
            name='used_rounds',
            field=models.JSONField(blank=True, default=list),
        ),
        migrations.CreateModel(
            name='ContextRound',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('status', models.CharField(choices=[('queued', 'Queued'), ('running', 'Running'), ('done', 'Done'), ('nothing', 'Nothing'), ('failed', 'Failed')], default='queued', max_length=10)),
                ('due_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('token', models.UUIDField(blank=True, null=True)),
                ('lease_until', models.DateTimeField(blank=True, null=True)),
                ('attempts', models.PositiveIntegerField(default=0)),
                ('error', models.TextField(blank=True)),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('finished_at', models.DateTimeField(blank=True, null=True)),
                ('number', models.PositiveIntegerField()),
                ('kind', models.CharField(choices=[('compact', 'a summary replaces older messages'), ('prune', 'older results of tools are shortened')], max_length=10)),
                ('reason', models.CharField(choices=[('threshold', 'the conversation nears the size of the window'), ('messages', 'the conversation has many messages'), ('overflow', "the model's server said that it is too long"), ('command', 'its owner asked for it'), ('pause', "the provider's cache had expired")], max_length=10)),
                ('focus', models.TextField(blank=True)),
                ('decisions', models.JSONField(blank=True, default=dict)),
                ('summary', models.TextField(blank=True)),
                ('maker', models.CharField(blank=True, choices=[('api', "the model's server"), ('model', 'the fast model'), ('extract', 'no model: the first words of messages'), ('person', 'its owner, who changed it')], max_length=10)),
                ('block', models.JSONField(blank=True, null=True)),
                ('supplement', models.JSONField(blank=True, default=dict)),
                ('text', models.TextField(blank=True)),
                ('steps', models.JSONField(blank=True, default=list)),
                ('asked_at', models.DateTimeField(blank=True, null=True)),
                ('checks', models.JSONField(blank=True, default=list)),
                ('tokens_before', models.PositiveIntegerField(default=0)),
                ('tokens_after', models.PositiveIntegerField(default=0)),
                ('used_at', models.DateTimeField(blank=True, null=True)),
                ('used_after_seq', models.PositiveBigIntegerField(default=0)),
                ('undone_at', models.DateTimeField(blank=True, null=True)),
                ('owner', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('session', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='context_rounds', to='chat.chatsession')),
                ('through', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='context_rounds', to='chat.message')),
            ],
            options={
                'abstract': False,
                'indexes': [models.Index(condition=models.Q(('status__in', ('queued', 'running'))), fields=['due_at'], name='contextround_open')],
                'constraints': [models.UniqueConstraint(fields=('session', 'number'), name='one_context_round_per_number'), models.UniqueConstraint(condition=models.Q(('status__in', ('queued', 'running')), models.Q(('status', 'done'), ('undone_at', None), ('used_at', None)), _connector='OR'), fields=('session',), name='one_open_context_round')],
            },
        ),
        migrations.RunSQL(COMPOSITE_KEY, NO_COMPOSITE_KEY),
    ]
