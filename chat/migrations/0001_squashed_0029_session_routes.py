"""The tables of release 0.1.0, in place of its migrations."""

import datetime
import django.contrib.postgres.indexes
import django.contrib.postgres.search
import django.db.models.deletion
import django.db.models.functions.datetime
import django.utils.timezone
import uuid
from django.conf import settings
from django.db import migrations, models

# A row of one person or space cannot reference one of another.
OWNERS = r"""
ALTER TABLE chat_attachment ADD CONSTRAINT attachment_in_owners_session
    FOREIGN KEY (owner_id, session_id) REFERENCES chat_chatsession (owner_id, id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE chat_beat ADD CONSTRAINT beat_of_owners_schedule
    FOREIGN KEY (owner_id, schedule_id) REFERENCES chat_schedule (owner_id, id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE chat_chatsession ADD CONSTRAINT session_in_owners_folder
    FOREIGN KEY (owner_id, folder_id) REFERENCES chat_folder (owner_id, id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE chat_contextround ADD CONSTRAINT context_round_of_owners_session
    FOREIGN KEY (owner_id, session_id) REFERENCES chat_chatsession (owner_id, id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE chat_relayedmessage ADD CONSTRAINT relayed_to_owners_session
    FOREIGN KEY (owner_id, target_id) REFERENCES chat_chatsession (owner_id, id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE chat_schedule ADD CONSTRAINT schedule_tells_its_owner
    FOREIGN KEY (owner_id, conversation_id) REFERENCES chat_chatsession (owner_id, id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE chat_sessionroute ADD CONSTRAINT session_route_of_owners_session
    FOREIGN KEY (owner_id, session_id) REFERENCES chat_chatsession (owner_id, id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE chat_subtask ADD CONSTRAINT sub_task_of_owners_parent
    FOREIGN KEY (owner_id, parent_id) REFERENCES chat_chatsession (owner_id, id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE chat_subtask ADD CONSTRAINT sub_task_of_owners_session
    FOREIGN KEY (owner_id, session_id) REFERENCES chat_chatsession (owner_id, id) DEFERRABLE INITIALLY DEFERRED;
"""
# What keeps other tables in step with messages.
FUNCTIONS = r"""
CREATE FUNCTION chat_note_files() RETURNS trigger
    LANGUAGE plpgsql
    AS $_$
BEGIN
    DELETE FROM chat_messagefile WHERE message_id = NEW.id;
    INSERT INTO chat_messagefile (message_id, attachment_id)
    SELECT DISTINCT NEW.id, file.id
    FROM jsonb_path_query(NEW.content, '$[*] ? (@.type == "attachment").id') AS named
    JOIN chat_attachment file ON file.id = (named #>> '{}')::uuid;
    RETURN NULL;
END $_$;
CREATE FUNCTION chat_note_words() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    INSERT INTO chat_messagewords (message_id, words)
    SELECT NEW.id, chat_words(NEW.text, session.owner_id) FROM chat_chatsession session
    WHERE session.id = NEW.session_id AND session.mode <> 'temporary'
    ON CONFLICT (message_id) DO UPDATE SET words = excluded.words;
    RETURN NULL;
END $$;
CREATE FUNCTION chat_words(body text, owner bigint) RETURNS tsvector
    LANGUAGE sql STABLE PARALLEL SAFE
    AS $$
    SELECT array_to_tsvector(ARRAY(
        SELECT owner || ':' || word FROM unnest(tsvector_to_array(to_tsvector('simple', left(body, 100000)))) AS word))
$$;
"""
TRIGGERS = r"""
CREATE TRIGGER message_is_finished AFTER UPDATE OF status, text ON chat_message
    FOR EACH ROW WHEN (NEW.status <> 'running' AND NEW.text <> '') EXECUTE FUNCTION chat_note_words();
CREATE TRIGGER message_is_written AFTER INSERT ON chat_message
    FOR EACH ROW WHEN (NEW.status <> 'running' AND NEW.text <> '') EXECUTE FUNCTION chat_note_words();
CREATE TRIGGER message_names_files AFTER INSERT ON chat_message
    FOR EACH ROW WHEN (NEW.role = 'user' AND NEW.content @> '[{"type": "attachment"}]'::jsonb)
    EXECUTE FUNCTION chat_note_files();
CREATE TRIGGER message_names_other_files AFTER UPDATE OF content ON chat_message
    FOR EACH ROW WHEN (NEW.role = 'user' AND NEW.content IS DISTINCT FROM OLD.content)
    EXECUTE FUNCTION chat_note_files();
"""


class Migration(migrations.Migration):
    initial = True

    replaces = [
        ('chat', '0001_initial'),
        ('chat', '0002_initial'),
        ('chat', '0003_presence_here'),
        ('chat', '0004_organised'),
        ('chat', '0005_words'),
        ('chat', '0006_prompt_for_and_temporary'),
        ('chat', '0007_taken_along'),
        ('chat', '0008_shared_links'),
        ('chat', '0009_agents_models_prompts'),
        ('chat', '0010_attachments'),
        ('chat', '0011_forks'),
        ('chat', '0012_message_files'),
        ('chat', '0013_fewer_indexes'),
        ('chat', '0014_jobs'),
        ('chat', '0015_reasons'),
        ('chat', '0016_system_context'),
        ('chat', '0017_heads'),
        ('chat', '0018_title_tries'),
        ('chat', '0019_effort'),
        ('chat', '0020_head_sections'),
        ('chat', '0021_context_rounds'),
        ('chat', '0022_switched_off_hooks'),
        ('chat', '0023_round_undo_key'),
        ('chat', '0024_database_clock'),
        ('chat', '0025_session_kinds'),
        ('chat', '0026_ratings'),
        ('chat', '0027_schedules'),
        ('chat', '0028_sub_tasks'),
        ('chat', '0029_session_routes'),
    ]

    dependencies = [
        ('oneclaw', '0001_squashed_0008_model_facts'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='Agent',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('slug', models.SlugField(max_length=60, unique=True)),
                ('name', models.CharField(max_length=80)),
                ('instructions', models.TextField(blank=True)),
                ('model', models.CharField(blank=True, max_length=100)),
                ('is_default', models.BooleanField(default=False)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('deleted_at', models.DateTimeField(blank=True, null=True)),
                ('own_memory', models.BooleanField(default=False)),
                ('tools_off', models.JSONField(blank=True, default=list)),
                ('effort', models.CharField(blank=True, choices=[(None, 'Auto'), ('low', 'Low'), ('medium', 'Medium'), ('high', 'High'), ('xhigh', 'Very high'), ('max', 'Maximum')], max_length=6)),
                ('dm_scope', models.CharField(blank=True, choices=[(None, "The server's default"), ('main', 'All messages'), ('per-peer', 'Those of one peer, on all channels'), ('per-channel-peer', 'Those of one peer on one channel'), ('per-account-channel-peer', 'Those of one peer on one channel and account')], max_length=24)),
            ],
        ),
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
            ],
        ),
        migrations.CreateModel(
            name='Beat',
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
                ('planned_at', models.DateTimeField()),
                ('by_hand', models.BooleanField(default=False)),
                ('waits', models.PositiveSmallIntegerField(default=0)),
                ('asked_at', models.DateTimeField(blank=True, null=True)),
                ('has_written', models.BooleanField(default=False)),
                ('outcome', models.CharField(blank=True, choices=[('sent', 'it sent the person a message'), ('quiet', 'the model had nothing to tell'), ('skipped', 'no model was asked'), ('failed', 'the model could not be asked, or the server stopped')], max_length=10)),
                ('reason', models.JSONField(blank=True, null=True)),
                ('text', models.TextField(blank=True)),
                ('note', models.CharField(blank=True, max_length=300)),
                ('tokens', models.PositiveIntegerField(default=0)),
                ('usage', models.JSONField(blank=True, default=list)),
            ],
            options={
                'abstract': False,
            },
        ),
        migrations.CreateModel(
            name='ChatSession',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('key', models.CharField(max_length=200, unique=True)),
                ('mode', models.CharField(choices=[('agent', 'reads and writes memory'), ('chat', 'reads memory only'), ('temporary', 'no memory at all')], default='agent', max_length=10)),
                ('title', models.CharField(blank=True, max_length=200)),
                ('last_seq', models.PositiveBigIntegerField(default=0)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('active_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('ended_at', models.DateTimeField(blank=True, null=True)),
                ('archived_at', models.DateTimeField(blank=True, null=True)),
                ('deleted_at', models.DateTimeField(blank=True, null=True)),
                ('pinned_at', models.DateTimeField(blank=True, null=True)),
                ('read_seq', models.PositiveBigIntegerField(default=0)),
                ('titled_by', models.CharField(blank=True, choices=[('', 'Nobody'), ('model', 'Model'), ('person', 'Person')], default='', max_length=6)),
                ('origin', models.CharField(blank=True, max_length=200, null=True)),
                ('model', models.CharField(blank=True, max_length=100)),
                ('copied_seq', models.PositiveBigIntegerField(default=0)),
                ('thinking_after_seq', models.PositiveBigIntegerField(default=0)),
                ('title_due_at', models.DateTimeField(blank=True, null=True)),
                ('title_tries', models.PositiveSmallIntegerField(default=0)),
                ('effort', models.CharField(blank=True, choices=[(None, 'Auto'), ('low', 'Low'), ('medium', 'Medium'), ('high', 'High'), ('xhigh', 'Very high'), ('max', 'Maximum')], max_length=6)),
                ('used_rounds', models.JSONField(blank=True, default=list)),
                ('kind', models.CharField(blank=True, choices=[('', 'Conversation'), ('sub', 'Sub-session'), ('beat', 'Scheduled turn')], default='', max_length=4)),
            ],
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
                ('undo_key', models.UUIDField(blank=True, null=True)),
            ],
            options={
                'abstract': False,
            },
        ),
        migrations.CreateModel(
            name='Folder',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name', models.CharField(max_length=60)),
            ],
            options={
                'ordering': ['name'],
            },
        ),
        migrations.CreateModel(
            name='Head',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('number', models.PositiveIntegerField(default=1)),
                ('reason', models.CharField(choices=[('first', 'the conversation began'), ('switched', 'a switch or a tool was turned on or off'), ('forgotten', 'a line of it was forgotten')], default='first', max_length=10)),
                ('system', models.TextField()),
                ('tools', models.JSONField(blank=True, null=True)),
                ('context', models.JSONField(blank=True, default=dict)),
                ('condition', models.TextField(blank=True)),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False)),
                ('sections', models.JSONField(blank=True, default=list)),
            ],
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
            name='Message',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('seq', models.PositiveBigIntegerField()),
                ('active', models.BooleanField(default=True)),
                ('role', models.CharField(choices=[('user', 'User'), ('assistant', 'Assistant'), ('tool', 'Tool'), ('notice', 'Notice')], max_length=10)),
                ('client_id', models.UUIDField(blank=True, null=True)),
                ('status', models.CharField(choices=[('running', 'Running'), ('complete', 'Complete'), ('stopped', 'Stopped'), ('interrupted', 'Interrupted'), ('failed', 'Failed')], default='complete', max_length=12)),
                ('content', models.JSONField(default=list)),
                ('meta', models.JSONField(default=dict)),
                ('text', models.TextField(blank=True)),
                ('html', models.TextField(blank=True)),
                ('html_version', models.PositiveSmallIntegerField(default=0)),
                ('model', models.CharField(blank=True, max_length=100)),
                ('stop_reason', models.CharField(blank=True, max_length=40)),
                ('usage', models.JSONField(blank=True, null=True)),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('finished_at', models.DateTimeField(blank=True, null=True)),
                ('parent', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='replies', to='chat.message')),
            ],
        ),
        migrations.CreateModel(
            name='ResetChoice',
            fields=[
                ('reset', models.CharField(blank=True, choices=[('none', 'Never'), ('daily', 'Every day'), ('idle', 'After a pause'), ('both', 'Every day, and after a pause')], max_length=5)),
                ('reset_hour', models.PositiveSmallIntegerField(blank=True, null=True)),
                ('reset_minutes', models.PositiveIntegerField(blank=True, null=True)),
                ('owner', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name='reset_choice', serialize=False, to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'abstract': False,
            },
        ),
        migrations.CreateModel(
            name='SwitchedOffHook',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('point', models.CharField(max_length=40)),
                ('name', models.CharField(max_length=200)),
                ('host', models.CharField(max_length=200)),
                ('pid', models.PositiveIntegerField()),
                ('why', models.CharField(max_length=300)),
                ('at', models.DateTimeField(default=django.utils.timezone.now)),
            ],
            options={
                'ordering': ['-at', '-pk'],
            },
        ),
        migrations.AddField(
            model_name='agent',
            name='owner',
            field=models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='agents', to=settings.AUTH_USER_MODEL),
        ),
        migrations.AddField(
            model_name='attachment',
            name='owner',
            field=models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='attachments', to=settings.AUTH_USER_MODEL),
        ),
        migrations.AddField(
            model_name='beat',
            name='owner',
            field=models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to=settings.AUTH_USER_MODEL),
        ),
        migrations.AddField(
            model_name='chatsession',
            name='agent',
            field=models.ForeignKey(on_delete=django.db.models.deletion.RESTRICT, related_name='sessions', to='chat.agent'),
        ),
        migrations.AddField(
            model_name='chatsession',
            name='owner',
            field=models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='chat_sessions', to=settings.AUTH_USER_MODEL),
        ),
        migrations.AddField(
            model_name='chatsession',
            name='parent',
            field=models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='children', to='chat.chatsession'),
        ),
        migrations.AddField(
            model_name='chatsession',
            name='space',
            field=models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to='oneclaw.space'),
        ),
        migrations.AddField(
            model_name='attachment',
            name='session',
            field=models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to='chat.chatsession'),
        ),
        migrations.AddField(
            model_name='contextround',
            name='owner',
            field=models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to=settings.AUTH_USER_MODEL),
        ),
        migrations.AddField(
            model_name='contextround',
            name='session',
            field=models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='context_rounds', to='chat.chatsession'),
        ),
        migrations.AddField(
            model_name='folder',
            name='owner',
            field=models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='folders', to=settings.AUTH_USER_MODEL),
        ),
        migrations.AddField(
            model_name='chatsession',
            name='folder',
            field=models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='sessions', to='chat.folder'),
        ),
        migrations.AddField(
            model_name='head',
            name='session',
            field=models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='heads', to='chat.chatsession'),
        ),
        migrations.AddField(
            model_name='chatsession',
            name='head',
            field=models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to='chat.head'),
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
        ),
        migrations.CreateModel(
            name='ImportJob',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('name', models.CharField(max_length=200)),
                ('total', models.PositiveIntegerField(blank=True, null=True)),
                ('done', models.PositiveIntegerField(default=0)),
                ('position', models.PositiveBigIntegerField(default=0)),
                ('brought', models.PositiveIntegerField(default=0)),
                ('messages', models.PositiveIntegerField(default=0)),
                ('known', models.PositiveIntegerField(default=0)),
                ('skipped', models.PositiveIntegerField(default=0)),
                ('left_out', models.PositiveIntegerField(default=0)),
                ('problems', models.JSONField(default=list)),
                ('error', models.TextField(blank=True)),
                ('token', models.UUIDField(blank=True, null=True)),
                ('lease_until', models.DateTimeField(blank=True, null=True)),
                ('attempts', models.PositiveIntegerField(default=0)),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('finished_at', models.DateTimeField(blank=True, null=True)),
                ('status', models.CharField(choices=[('queued', 'Queued'), ('running', 'Running'), ('done', 'Done'), ('nothing', 'Nothing'), ('failed', 'Failed')], default='queued', max_length=10)),
                ('due_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('owner', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'ordering': ['-created_at'],
            },
        ),
        migrations.CreateModel(
            name='MessageWords',
            fields=[
                ('message', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name='words', serialize=False, to='chat.message')),
                ('words', django.contrib.postgres.search.SearchVectorField()),
            ],
        ),
        migrations.CreateModel(
            name='Rating',
            fields=[
                ('message', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name='rating', serialize=False, to='chat.message')),
                ('model', models.CharField(blank=True, max_length=100)),
                ('is_good', models.BooleanField()),
                ('reason', models.CharField(blank=True, max_length=1000)),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
            ],
        ),
        migrations.AddField(
            model_name='message',
            name='session',
            field=models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='messages', to='chat.chatsession'),
        ),
        migrations.AddField(
            model_name='contextround',
            name='through',
            field=models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='context_rounds', to='chat.message'),
        ),
        migrations.AddField(
            model_name='beat',
            name='message',
            field=models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to='chat.message'),
        ),
        migrations.AddField(
            model_name='attachment',
            name='message',
            field=models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='attachments', to='chat.message'),
        ),
        migrations.CreateModel(
            name='MessageFile',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('attachment', models.ForeignKey(db_constraint=False, on_delete=django.db.models.deletion.CASCADE, related_name='names', to='chat.attachment')),
                ('message', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='file_names', to='chat.message')),
            ],
        ),
        migrations.CreateModel(
            name='Presence',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('day', models.DateField(blank=True, null=True)),
                ('seen_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('here', models.BooleanField(default=False)),
                ('session', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to='chat.chatsession')),
                ('user', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, related_name='presence', to=settings.AUTH_USER_MODEL)),
            ],
        ),
        migrations.CreateModel(
            name='SavedPrompt',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name', models.CharField(max_length=40)),
                ('text', models.TextField()),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('owner', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='saved_prompts', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'ordering': ['name'],
            },
        ),
        migrations.CreateModel(
            name='Schedule',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('kind', models.CharField(choices=[('heartbeat', 'looks through HEARTBEAT.md again and again'), ('task', 'a task at times'), ('once', 'a task at one time')], max_length=10)),
                ('text', models.TextField(blank=True)),
                ('every_minutes', models.PositiveSmallIntegerField(default=30)),
                ('from_time', models.TimeField(default=datetime.time(8, 0))),
                ('until_time', models.TimeField(default=datetime.time(22, 0))),
                ('repeat', models.CharField(blank=True, choices=[('daily', 'Daily'), ('weekly', 'Weekly'), ('monthly', 'Monthly')], max_length=10)),
                ('at', models.TimeField(blank=True, null=True)),
                ('days', models.JSONField(blank=True, default=list)),
                ('month_day', models.PositiveSmallIntegerField(blank=True, null=True)),
                ('on', models.DateField(blank=True, null=True)),
                ('next_at', models.DateTimeField(blank=True, null=True)),
                ('zone', models.CharField(blank=True, max_length=64)),
                ('enabled', models.BooleanField(default=False)),
                ('tools', models.JSONField(blank=True, default=list)),
                ('quiet_hash', models.CharField(blank=True, max_length=32)),
                ('failures', models.PositiveSmallIntegerField(default=0)),
                ('stopped_at', models.DateTimeField(blank=True, null=True)),
                ('confirmed_at', models.DateTimeField(blank=True, null=True)),
                ('declined_at', models.DateTimeField(blank=True, null=True)),
                ('proposal_key', models.CharField(blank=True, max_length=200, null=True)),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False)),
                ('agent', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to='chat.agent')),
                ('conversation', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to='chat.chatsession')),
                ('owner', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='schedules', to=settings.AUTH_USER_MODEL)),
            ],
        ),
        migrations.AddField(
            model_name='beat',
            name='schedule',
            field=models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='beats', to='chat.schedule'),
        ),
        migrations.CreateModel(
            name='SessionRoute',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('reset', models.CharField(blank=True, choices=[('none', 'Never'), ('daily', 'Every day'), ('idle', 'After a pause'), ('both', 'Every day, and after a pause')], max_length=5)),
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
        ),
        migrations.AddField(
            model_name='chatsession',
            name='route',
            field=models.ForeignKey(blank=True, db_index=False, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='sessions', to='chat.sessionroute'),
        ),
        migrations.CreateModel(
            name='SharedLink',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('token_hash', models.CharField(max_length=64, unique=True)),
                ('title', models.CharField(max_length=200)),
                ('snapshot', models.JSONField(default=list)),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('expires_at', models.DateTimeField(blank=True, null=True)),
                ('session', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='shared_links', to='chat.chatsession')),
            ],
            options={
                'ordering': ['-created_at'],
            },
        ),
        migrations.CreateModel(
            name='Turn',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('attempt', models.PositiveIntegerField(default=1)),
                ('kind', models.CharField(choices=[('send', 'Send'), ('retry', 'Retry'), ('continue', 'Continue')], default='send', max_length=10)),
                ('status', models.CharField(choices=[('running', 'Running'), ('complete', 'Complete'), ('stopped', 'Stopped'), ('interrupted', 'Interrupted'), ('failed', 'Failed')], default='running', max_length=12)),
                ('holder', models.UUIDField(default=uuid.uuid4)),
                ('lease_until', models.DateTimeField()),
                ('stop_requested', models.BooleanField(default=False)),
                ('error_code', models.CharField(blank=True, max_length=40)),
                ('started_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False)),
                ('finished_at', models.DateTimeField(blank=True, null=True)),
                ('error', models.JSONField(blank=True, null=True)),
                ('prompt', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='attempts', to='chat.message')),
                ('session', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='turns', to='chat.chatsession')),
            ],
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
                ('session', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, related_name='sub_task', to='chat.chatsession')),
                ('root_turn', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='sub_tasks_below', to='chat.turn')),
                ('turn', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='sub_tasks', to='chat.turn')),
            ],
        ),
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
        ),
        migrations.AddField(
            model_name='message',
            name='turn',
            field=models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='messages', to='chat.turn'),
        ),
        migrations.AddField(
            model_name='beat',
            name='turn',
            field=models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to='chat.turn'),
        ),
        migrations.AddConstraint(
            model_name='agent',
            constraint=models.UniqueConstraint(condition=models.Q(('is_default', True)), fields=('is_default',), name='one_default_agent'),
        ),
        migrations.AddConstraint(
            model_name='agent',
            constraint=models.CheckConstraint(condition=models.Q(('is_default', False), models.Q(('deleted_at', None), ('owner', None)), _connector='OR'), name='default_agent_is_the_servers'),
        ),
        migrations.AddConstraint(
            model_name='folder',
            constraint=models.UniqueConstraint(fields=('owner', 'name'), name='one_folder_of_a_name'),
        ),
        migrations.AddConstraint(
            model_name='folder',
            constraint=models.UniqueConstraint(fields=('owner', 'id'), name='folder_of_owner'),
        ),
        migrations.AddConstraint(
            model_name='head',
            constraint=models.UniqueConstraint(fields=('session', 'number'), name='one_head_per_number'),
        ),
        migrations.AddConstraint(
            model_name='identitylink',
            constraint=models.UniqueConstraint(fields=('provider', 'peer'), name='one_link_of_a_peer'),
        ),
        migrations.AddIndex(
            model_name='importjob',
            index=models.Index(condition=models.Q(('status__in', ('queued', 'running'))), fields=['due_at'], name='importjob_open'),
        ),
        migrations.AddConstraint(
            model_name='importjob',
            constraint=models.UniqueConstraint(condition=models.Q(('status__in', ('queued', 'running'))), fields=('owner',), name='one_open_import'),
        ),
        migrations.AddIndex(
            model_name='messagewords',
            index=django.contrib.postgres.indexes.GinIndex(fastupdate=False, fields=['words'], name='message_words'),
        ),
        migrations.AddField(
            model_name='rating',
            name='agent',
            field=models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to='chat.agent'),
        ),
        migrations.AddIndex(
            model_name='contextround',
            index=models.Index(condition=models.Q(('status__in', ('queued', 'running'))), fields=['due_at'], name='contextround_open'),
        ),
        migrations.AddConstraint(
            model_name='contextround',
            constraint=models.UniqueConstraint(fields=('session', 'number'), name='one_context_round_per_number'),
        ),
        migrations.AddConstraint(
            model_name='contextround',
            constraint=models.UniqueConstraint(condition=models.Q(('status__in', ('queued', 'running')), models.Q(('status', 'done'), ('undone_at', None), ('used_at', None)), _connector='OR'), fields=('session',), name='one_open_context_round'),
        ),
        migrations.AddIndex(
            model_name='attachment',
            index=models.Index(condition=models.Q(('message', None)), fields=['created_at'], name='attachment_unsent'),
        ),
        migrations.AddConstraint(
            model_name='messagefile',
            constraint=models.UniqueConstraint(fields=('message', 'attachment'), name='one_name_per_file'),
        ),
        migrations.AddIndex(
            model_name='presence',
            index=models.Index(condition=models.Q(('here', True)), fields=['seen_at'], name='presence_here'),
        ),
        migrations.AddConstraint(
            model_name='savedprompt',
            constraint=models.UniqueConstraint(fields=('owner', 'name'), name='one_prompt_of_a_name'),
        ),
        migrations.AddIndex(
            model_name='schedule',
            index=models.Index(condition=models.Q(('enabled', True)), fields=['next_at'], name='schedules_due'),
        ),
        migrations.AddConstraint(
            model_name='schedule',
            constraint=models.UniqueConstraint(condition=models.Q(('kind', 'heartbeat')), fields=('owner',), name='one_heartbeat_of_a_person'),
        ),
        migrations.AddConstraint(
            model_name='schedule',
            constraint=models.UniqueConstraint(fields=('owner', 'proposal_key'), name='one_task_of_a_call'),
        ),
        migrations.AddConstraint(
            model_name='schedule',
            constraint=models.UniqueConstraint(fields=('owner', 'id'), name='schedule_of_owner'),
        ),
        migrations.AddIndex(
            model_name='sessionroute',
            index=models.Index(condition=models.Q(('check_at__isnull', False)), fields=['check_at'], name='routes_to_check'),
        ),
        migrations.AddIndex(
            model_name='chatsession',
            index=models.Index(fields=['owner', '-active_at'], name='session_recent'),
        ),
        migrations.AddIndex(
            model_name='chatsession',
            index=models.Index(condition=models.Q(('pinned_at__isnull', False), ('folder__isnull', False), _connector='OR'), fields=['owner'], name='session_kept_apart'),
        ),
        migrations.AddIndex(
            model_name='chatsession',
            index=models.Index(condition=models.Q(('last_seq__gt', 0), ('mode', 'temporary')), fields=['active_at'], name='temporary_sessions'),
        ),
        migrations.AddIndex(
            model_name='chatsession',
            index=models.Index(condition=models.Q(('title_due_at__isnull', False)), fields=['title_due_at'], name='sessions_to_name'),
        ),
        migrations.AddIndex(
            model_name='chatsession',
            index=models.Index(condition=models.Q(('route__isnull', False)), fields=['route'], name='sessions_of_routes'),
        ),
        migrations.AddConstraint(
            model_name='chatsession',
            constraint=models.UniqueConstraint(fields=('owner', 'id'), name='session_of_owner'),
        ),
        migrations.AddConstraint(
            model_name='chatsession',
            constraint=models.UniqueConstraint(condition=models.Q(('origin__isnull', False)), fields=('owner', 'origin'), name='imported_once'),
        ),
        migrations.AddIndex(
            model_name='turn',
            index=models.Index(condition=models.Q(('status', 'running')), fields=['lease_until'], name='turn_leases'),
        ),
        migrations.AddConstraint(
            model_name='turn',
            constraint=models.UniqueConstraint(condition=models.Q(('status', 'running')), fields=('session',), name='one_running_turn'),
        ),
        migrations.AddConstraint(
            model_name='turn',
            constraint=models.UniqueConstraint(fields=('prompt', 'attempt'), name='one_answer_per_attempt'),
        ),
        migrations.AddIndex(
            model_name='subtask',
            index=models.Index(fields=['owner', 'created_at'], name='sub_tasks_of_day'),
        ),
        migrations.AddIndex(
            model_name='subtask',
            index=models.Index(condition=models.Q(('state', 'running')), fields=['deadline'], name='sub_tasks_running'),
        ),
        migrations.AddConstraint(
            model_name='subtask',
            constraint=models.UniqueConstraint(fields=('turn', 'tool_use_id'), name='one_sub_task_per_call'),
        ),
        migrations.AddConstraint(
            model_name='subtask',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('finished_at', None), ('state', 'running')), models.Q(models.Q(('state', 'running'), _negated=True), ('finished_at__isnull', False)), _connector='OR'), name='sub_task_ended_iff_not_running'),
        ),
        migrations.AddIndex(
            model_name='relayedmessage',
            index=models.Index(fields=['owner', 'created_at'], name='relayed_of_minute'),
        ),
        migrations.AddIndex(
            model_name='relayedmessage',
            index=models.Index(condition=models.Q(('state', 'queued')), fields=['deadline'], name='relayed_queued'),
        ),
        migrations.AddConstraint(
            model_name='relayedmessage',
            constraint=models.UniqueConstraint(fields=('turn', 'tool_use_id'), name='one_relayed_message_per_call'),
        ),
        migrations.AddConstraint(
            model_name='message',
            constraint=models.UniqueConstraint(fields=('session', 'seq'), name='one_message_per_place'),
        ),
        migrations.AddConstraint(
            model_name='message',
            constraint=models.UniqueConstraint(condition=models.Q(('client_id__isnull', False)), fields=('session', 'client_id'), name='one_message_per_client_id'),
        ),
        migrations.AddIndex(
            model_name='beat',
            index=models.Index(condition=models.Q(('status__in', ('queued', 'running'))), fields=['due_at'], name='beat_open'),
        ),
        migrations.AddIndex(
            model_name='beat',
            index=models.Index(condition=models.Q(('asked_at__isnull', False)), fields=['owner', 'asked_at'], name='beats_asked'),
        ),
        migrations.AddIndex(
            model_name='beat',
            index=models.Index(fields=['finished_at'], name='beats_finished'),
        ),
        migrations.AddConstraint(
            model_name='beat',
            constraint=models.UniqueConstraint(fields=('schedule', 'planned_at'), name='one_beat_per_time'),
        ),
        migrations.AddConstraint(
            model_name='beat',
            constraint=models.UniqueConstraint(condition=models.Q(('status__in', ('queued', 'running'))), fields=('schedule',), name='one_open_beat_of_a_schedule'),
        ),
        migrations.RunSQL(OWNERS, migrations.RunSQL.noop),
        migrations.RunSQL(FUNCTIONS, migrations.RunSQL.noop),
        migrations.RunSQL(TRIGGERS, migrations.RunSQL.noop),
    ]
