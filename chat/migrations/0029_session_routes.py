import django.db.models.deletion
import django.utils.timezone
from django.conf import settings
from django.db import migrations, models

RESETS = [('none', 'Never'), ('daily', 'Every day'), ('idle', 'After a pause'), ('both', 'Every day, and after a pause')]
# A route of one person cannot lead to the conversation of another.
COMPOSITE_KEY = """
ALTER TABLE chat_sessionroute
    ADD CONSTRAINT session_route_of_owners_session FOREIGN KEY (owner_id, session_id)
        REFERENCES chat_chatsession (owner_id, id) DEFERRABLE INITIALLY DEFERRED;
"""
NO_COMPOSITE_KEY = "ALTER TABLE chat_sessionroute DROP CONSTRAINT session_route_of_owners_session;"


class Migration(migrations.Migration):

    dependencies = [
        ("chat", "0028_sub_tasks"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.AddField(
            model_name='agent',
            name='dm_scope',
            field=models.CharField(blank=True, choices=[(None, "The server's default"), ('main', 'All messages'), ('per-peer', 'Those of one peer, on all channels'), ('per-channel-peer', 'Those of one peer on one channel'), ('per-account-channel-peer', 'Those of one peer on one channel and account')], max_length=24),
        ),
        migrations.CreateModel(
            name='IdentityCode',
            fields=[
                ('owner', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name='identity_code', serialize=False, to=settings.AUTH_USER_MODEL)),
                ('canonical', models.CharField(max_length=64)),
                ('code_hash', models.CharField(max_length=64)),
                ('expires_at', models.DateTimeField()),
                ('tries', models.PositiveSmallIntegerField(default=0)),
            ],
        ),
        migrations.CreateModel(
            name='IdentityLink',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('canonical', models.CharField(max_length=64, verbose_name='name')),
                ('provider', models.CharField(max_length=40, verbose_name='channel')),
                ('peer', models.CharField(max_length=128)),
                ('proven_at', models.DateTimeField(blank=True, null=True)),
                ('by', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('owner', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='identity_links', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('provider', 'peer'), name='one_link_of_a_peer')],
            },
        ),
        migrations.CreateModel(
            name='ResetChoice',
            fields=[
                ('reset', models.CharField(blank=True, choices=RESETS, max_length=5)),
                ('reset_hour', models.PositiveSmallIntegerField(blank=True, null=True)),
                ('reset_minutes', models.PositiveIntegerField(blank=True, null=True)),
                ('owner', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name='reset_choice', serialize=False, to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'abstract': False,
            },
        ),
        migrations.CreateModel(
            name='SessionRoute',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('reset', models.CharField(blank=True, choices=RESETS, max_length=5)),
                ('reset_hour', models.PositiveSmallIntegerField(blank=True, null=True)),
                ('reset_minutes', models.PositiveIntegerField(blank=True, null=True)),
                ('key', models.CharField(max_length=2600, unique=True)),
                ('channel', models.CharField(max_length=40)),
                ('account', models.CharField(blank=True, max_length=64)),
                ('peer', models.CharField(max_length=128)),
                ('started_at', models.DateTimeField(blank=True, null=True)),
                ('last_person_at', models.DateTimeField(blank=True, null=True)),
                ('check_at', models.DateTimeField(blank=True, null=True)),
                ('reset_key', models.UUIDField(blank=True, null=True)),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('agent', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to='chat.agent')),
                ('owner', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='routes', to=settings.AUTH_USER_MODEL)),
                ('session', models.OneToOneField(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='current_of', to='chat.chatsession')),
            ],
            options={
                'indexes': [models.Index(condition=models.Q(('check_at__isnull', False)), fields=['check_at'], name='routes_to_check')],
            },
        ),
        migrations.AddField(
            model_name='chatsession',
            name='route',
            field=models.ForeignKey(blank=True, db_index=False, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='sessions', to='chat.sessionroute'),
        ),
        migrations.AddIndex(
            model_name='chatsession',
            index=models.Index(condition=models.Q(('route__isnull', False)), fields=['route'], name='sessions_of_routes'),
        ),
        migrations.RunSQL(COMPOSITE_KEY, NO_COMPOSITE_KEY),
    ]
