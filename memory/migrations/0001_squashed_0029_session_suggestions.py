"""The tables of release 0.1.0, in place of its migrations."""

import django.contrib.postgres.fields
import django.db.models.deletion
import django.db.models.expressions
import django.db.models.functions.datetime
import django.utils.timezone
import pgvector.django
import pgvector.django.halfvec
import uuid
from django.conf import settings
from django.core.management.base import CommandError
from django.db import DatabaseError, migrations, models

NOT_ALLOWED = (
    "This role may not create the extension pgvector. Let an admin of the database run, in this database: "
    "CREATE EXTENSION vector; then migrate again."
)
NOT_INSTALLED = "This PostgreSQL lacks the extension pgvector: install its package on the server, then migrate again."


class VectorExtensionOfAdmin(pgvector.django.VectorExtension):
    """The extension, which only an admin of the database may create on some servers."""

    def database_forwards(self, app_label, schema_editor, from_state, to_state):
        try:
            super().database_forwards(app_label, schema_editor, from_state, to_state)
        except DatabaseError as error:
            match getattr(error.__cause__, "sqlstate", ""):
                case "42501":
                    raise CommandError(NOT_ALLOWED) from error
                case "0A000" | "58P01":
                    raise CommandError(NOT_INSTALLED) from error
            raise


# A row of one person or space cannot reference one of another; what belongs to a document goes with it.
OWNERS = """
ALTER TABLE memory_agentspace ADD CONSTRAINT agent_space_of_owner
    FOREIGN KEY (owner_id, space_id) REFERENCES oneclaw_space (owner_id, id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE memory_documentindex ADD CONSTRAINT index_in_space
    FOREIGN KEY (space_id, document_id) REFERENCES memory_memorydocument (space_id, id) ON DELETE CASCADE;
ALTER TABLE memory_documentjob ADD CONSTRAINT document_job_into_owners_space
    FOREIGN KEY (owner_id, space_id) REFERENCES oneclaw_space (owner_id, id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE memory_documentjob ADD CONSTRAINT document_job_of_owners_session
    FOREIGN KEY (owner_id, session_id) REFERENCES chat_chatsession (owner_id, id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE memory_flush ADD CONSTRAINT flush_into_owners_space
    FOREIGN KEY (owner_id, space_id) REFERENCES oneclaw_space (owner_id, id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE memory_flush ADD CONSTRAINT flush_of_owners_session
    FOREIGN KEY (owner_id, session_id) REFERENCES chat_chatsession (owner_id, id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE memory_memorychunk ADD CONSTRAINT chunk_in_space
    FOREIGN KEY (space_id, document_id) REFERENCES memory_memorydocument (space_id, id) ON DELETE CASCADE;
ALTER TABLE memory_memoryrevision ADD CONSTRAINT revision_in_space_of_document
    FOREIGN KEY (space_id, document_id) REFERENCES memory_memorydocument (space_id, id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE memory_transcriptindex ADD CONSTRAINT transcript_in_owners_space
    FOREIGN KEY (owner_id, space_id) REFERENCES oneclaw_space (owner_id, id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE memory_transcriptindex ADD CONSTRAINT transcript_of_owners_session
    FOREIGN KEY (owner_id, session_id) REFERENCES chat_chatsession (owner_id, id) DEFERRABLE INITIALLY DEFERRED;
"""
# What a search reads stays inside its row: a value moved out of line costs eleven times as much to scan. The exact scan
# of one space reads the index alone, whose entries hold 2,704 bytes at most.
STORAGE = """
ALTER TABLE memory_documentindex SET (toast_tuple_target = 8160);
ALTER TABLE memory_documentindex ALTER COLUMN data SET STORAGE EXTERNAL;
ALTER TABLE memory_transcriptindex SET (toast_tuple_target = 8160);
ALTER TABLE memory_transcriptindex ALTER COLUMN data SET STORAGE EXTERNAL;
ALTER TABLE memory_textvector SET (toast_tuple_target = 8160);
ALTER TABLE memory_textvector ALTER COLUMN vector SET STORAGE MAIN;
CREATE INDEX vector_scan ON memory_textvector (space_id, model_id) INCLUDE (text_key, vector)
    WHERE vector_dims(vector) <= 1280;
"""
# A revision is changed by a forgetting alone, which only takes lines out of it.
FINAL_REVISIONS = """
CREATE FUNCTION memory_revision_is_final() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    IF (NEW.id, NEW.space_id, NEW.document_id, NEW.number, NEW.kind, NEW.source, NEW.created_at)
            = (OLD.id, OLD.space_id, OLD.document_id, OLD.number, OLD.kind, OLD.source, OLD.created_at)
        AND (NEW.reason IS NULL OR NEW.reason = OLD.reason)
        AND (NEW.operation_key IS NULL OR NEW.operation_key = OLD.operation_key)
        AND EXISTS (
            SELECT FROM memory_forgetting
            WHERE space_id = OLD.space_id AND transaction = pg_current_xact_id()::text::bigint
        )
        AND NOT EXISTS (
            SELECT line FROM jsonb_array_elements(NEW.hunks) AS hunk,
                jsonb_array_elements((hunk -> 'removed') || (hunk -> 'added')) AS line
            WHERE line <> '""'
            EXCEPT
            SELECT line FROM jsonb_array_elements(OLD.hunks) AS hunk,
                jsonb_array_elements((hunk -> 'removed') || (hunk -> 'added')) AS line
        )
    THEN
        RETURN NEW;
    END IF;
    RAISE EXCEPTION 'A revision is never edited.' USING ERRCODE = 'integrity_constraint_violation';
END $$;
CREATE TRIGGER revision_is_final
    BEFORE UPDATE OF id, space_id, document_id, number, kind, source, reason, hunks, content_hash, operation_key, created_at
    ON memory_memoryrevision FOR EACH ROW EXECUTE FUNCTION memory_revision_is_final();
"""


class Migration(migrations.Migration):
    initial = True

    replaces = [
        ('memory', '0001_initial'),
        ('memory', '0002_composite_keys'),
        ('memory', '0003_index'),
        ('memory', '0004_errands'),
        ('memory', '0005_embedding_errors'),
        ('memory', '0006_forgetting'),
        ('memory', '0007_switches_and_transcripts'),
        ('memory', '0008_decisions'),
        ('memory', '0009_signs'),
        ('memory', '0010_agent_spaces'),
        ('memory', '0011_whole_terms'),
        ('memory', '0012_width_of_model'),
        ('memory', '0013_names_without_passwords'),
        ('memory', '0014_layouts_by_index'),
        ('memory', '0015_fewer_indexes'),
        ('memory', '0016_jobs'),
        ('memory', '0017_reasons'),
        ('memory', '0018_context_items'),
        ('memory', '0019_transcript_roles'),
        ('memory', '0020_comparisons'),
        ('memory', '0021_overview'),
        ('memory', '0022_lab'),
        ('memory', '0023_database_clock'),
        ('memory', '0024_suggestions_and_reviews'),
        ('memory', '0025_skill_approvals'),
        ('memory', '0026_superseded_lines_and_newest_entries'),
        ('memory', '0027_line_feedback'),
        ('memory', '0028_demo_walk'),
        ('memory', '0029_session_suggestions'),
    ]

    dependencies = [
        ('chat', '0001_squashed_0029_session_routes'),
        ('oneclaw', '0001_squashed_0008_model_facts'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        VectorExtensionOfAdmin(),
        migrations.CreateModel(
            name='DemoWalk',
            fields=[
                ('user', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name='+', serialize=False, to=settings.AUTH_USER_MODEL)),
                ('saved_at', models.DateTimeField(blank=True, null=True)),
                ('moved_at', models.DateTimeField(blank=True, null=True)),
                ('recalled_at', models.DateTimeField(blank=True, null=True)),
                ('undone_at', models.DateTimeField(blank=True, null=True)),
                ('closed_at', models.DateTimeField(blank=True, null=True)),
            ],
        ),
        migrations.CreateModel(
            name='MemoryDocument',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('path', models.CharField(max_length=255)),
                ('content', models.TextField(blank=True)),
                ('content_hash', models.CharField(default='e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855', editable=False, max_length=64)),
                ('version', models.PositiveIntegerField(default=0)),
                ('mirrored_version', models.PositiveIntegerField(default=0)),
                ('indexed_version', models.PositiveIntegerField(default=0)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('updated_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('deleted_at', models.DateTimeField(blank=True, null=True)),
                ('space', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='documents', to='oneclaw.space')),
            ],
        ),
        migrations.CreateModel(
            name='EmbeddingModel',
            fields=[
                ('id', models.BigIntegerField(primary_key=True, serialize=False)),
                ('name', models.CharField(max_length=400, unique=True)),
                ('width', models.PositiveIntegerField(default=0)),
                ('error', models.JSONField(blank=True, null=True)),
            ],
        ),
        migrations.CreateModel(
            name='DocumentOverview',
            fields=[
                ('document', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name='overview', serialize=False, to='memory.memorydocument')),
                ('version', models.PositiveIntegerField()),
                ('revisions', django.contrib.postgres.fields.ArrayField(base_field=models.PositiveIntegerField(), size=None)),
                ('topics', django.contrib.postgres.fields.ArrayField(base_field=models.PositiveSmallIntegerField(), size=None)),
                ('spans', django.contrib.postgres.fields.ArrayField(base_field=models.PositiveIntegerField(), size=None)),
                ('asked_at', models.DateTimeField(blank=True, null=True)),
                ('is_grouped', models.BooleanField(default=False)),
                ('newest', models.JSONField(blank=True, null=True)),
            ],
        ),
        migrations.CreateModel(
            name='DocumentJob',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('kind', models.CharField(choices=[('last_messages', 'Last Messages'), ('recent', 'Recent')], max_length=20)),
                ('through_seq', models.PositiveBigIntegerField()),
                ('token', models.UUIDField(blank=True, null=True)),
                ('lease_until', models.DateTimeField(blank=True, null=True)),
                ('attempts', models.PositiveIntegerField(default=0)),
                ('due_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('error', models.TextField(blank=True)),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('finished_at', models.DateTimeField(blank=True, null=True)),
                ('status', models.CharField(choices=[('queued', 'Queued'), ('running', 'Running'), ('done', 'Done'), ('nothing', 'Nothing'), ('failed', 'Failed')], default='queued', max_length=10)),
                ('owner', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('session', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='document_jobs', to='chat.chatsession')),
                ('space', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to='oneclaw.space')),
            ],
        ),
        migrations.CreateModel(
            name='Forgetting',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('counts', models.JSONField(default=dict)),
                ('hashes', models.JSONField(default=list)),
                ('transaction', models.BigIntegerField(db_default=django.db.models.expressions.RawSQL('pg_current_xact_id()::text::bigint', ()))),
                ('finished_at', models.DateTimeField(blank=True, null=True)),
                ('author', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('space', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='forgettings', to='oneclaw.space')),
            ],
        ),
        migrations.CreateModel(
            name='ForgottenLine',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('hash', models.CharField(max_length=64)),
                ('words', models.PositiveIntegerField()),
                ('whole', models.BooleanField()),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('space', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='oneclaw.space')),
            ],
        ),
        migrations.CreateModel(
            name='GoldenQuestion',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('question', models.CharField(max_length=1000)),
                ('expected', models.TextField()),
                ('key', models.CharField(max_length=64)),
                ('rank', models.PositiveSmallIntegerField(blank=True, null=True)),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('is_from_feedback', models.BooleanField(default=False)),
                ('is_unwanted', models.BooleanField(default=False)),
                ('space', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='golden_questions', to='oneclaw.space')),
            ],
        ),
        migrations.CreateModel(
            name='LabRun',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('found', models.PositiveIntegerField()),
                ('total', models.PositiveIntegerField()),
                ('setup', models.CharField(max_length=400)),
                ('space', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='lab_runs', to='oneclaw.space')),
            ],
        ),
        migrations.CreateModel(
            name='LineFeedback',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('text_key', models.BigIntegerField()),
                ('kind', models.PositiveSmallIntegerField(choices=[(1, 'Wrong'), (2, 'Outdated'), (3, 'Not relevant'), (4, 'Helpful')])),
                ('question_terms', models.BinaryField(default=bytes)),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('golden', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='feedback', to='memory.goldenquestion')),
                ('space', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to='oneclaw.space')),
                ('user', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
        ),
        migrations.CreateModel(
            name='MemoryChunk',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('ordinal', models.PositiveIntegerField()),
                ('start_line', models.PositiveIntegerField()),
                ('end_line', models.PositiveIntegerField()),
                ('heading', models.TextField(blank=True)),
                ('text', models.TextField()),
                ('text_key', models.BigIntegerField()),
                ('document', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='chunks', to='memory.memorydocument')),
                ('space', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='oneclaw.space')),
            ],
        ),
        migrations.CreateModel(
            name='MemoryRevision',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('number', models.PositiveIntegerField()),
                ('kind', models.CharField(choices=[('append', 'Append'), ('replace', 'Replace'), ('delete', 'Delete')], max_length=10)),
                ('source', models.CharField(choices=[('tool', 'assistant'), ('flush', 'conversation notes'), ('page', 'memory page'), ('admin', 'admin'), ('file', 'file in the folder'), ('api', 'API'), ('undo', 'undo'), ('import', 'import'), ('forget', 'forgetting')], max_length=10)),
                ('hunks', models.JSONField(default=list)),
                ('content_hash', models.CharField(max_length=64)),
                ('operation_key', models.CharField(blank=True, max_length=120, null=True)),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('reason', models.JSONField(blank=True, null=True)),
                ('author', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('document', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='revisions', to='memory.memorydocument')),
                ('message', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to='chat.message')),
                ('space', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to='oneclaw.space')),
            ],
        ),
        migrations.CreateModel(
            name='Flush',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('after_seq', models.PositiveBigIntegerField(blank=True, null=True)),
                ('through_seq', models.PositiveBigIntegerField(blank=True, null=True)),
                ('day', models.DateField(blank=True, null=True)),
                ('status', models.CharField(choices=[('queued', 'Queued'), ('running', 'Running'), ('done', 'Done'), ('nothing', 'Nothing'), ('failed', 'Failed')], default='queued', max_length=10)),
                ('reason', models.CharField(max_length=20)),
                ('token', models.UUIDField(blank=True, null=True)),
                ('lease_until', models.DateTimeField(blank=True, null=True)),
                ('attempts', models.PositiveIntegerField(default=0)),
                ('due_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('error', models.TextField(blank=True)),
                ('summarised', models.BooleanField(default=True)),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('finished_at', models.DateTimeField(blank=True, null=True)),
                ('owner', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('session', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='flushes', to='chat.chatsession')),
                ('space', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to='oneclaw.space')),
                ('revision', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to='memory.memoryrevision')),
            ],
            options={
                'verbose_name_plural': 'flushes',
            },
        ),
        migrations.CreateModel(
            name='Decision',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('kind', models.CharField(choices=[('contradiction', 'Contradiction'), ('secret', 'Secret')], max_length=20)),
                ('lines', models.PositiveIntegerField(default=0)),
                ('lines_hash', models.CharField(blank=True, max_length=64)),
                ('line', models.PositiveIntegerField(default=0)),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('choice', models.CharField(blank=True, choices=[('both', 'Keep both'), ('new', 'Keep the new'), ('old', 'Keep the old'), ('masked', 'Keep it masked'), ('as_said', 'Save it as it was said'), ('remove', 'Remove the line')], max_length=20)),
                ('decided_at', models.DateTimeField(blank=True, null=True)),
                ('outcome', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to='memory.memoryrevision')),
                ('revision', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='decisions', to='memory.memoryrevision')),
            ],
        ),
        migrations.CreateModel(
            name='Comparison',
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
                ('owner', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('revision', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, related_name='+', to='memory.memoryrevision')),
            ],
            options={
                'abstract': False,
            },
        ),
        migrations.CreateModel(
            name='Review',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('kind', models.CharField(choices=[('outdated', 'Outdated'), ('superseded', 'Superseded'), ('still_true', 'Still True')], max_length=10)),
                ('line_hash', models.CharField(max_length=64)),
                ('day', models.DateField(blank=True, null=True)),
                ('asked_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('answered_at', models.DateTimeField(blank=True, null=True)),
                ('newer_hash', models.CharField(blank=True, max_length=64)),
                ('document', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='reviews', to='memory.memorydocument')),
                ('newer_document', models.ForeignKey(blank=True, db_index=False, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='memory.memorydocument')),
            ],
        ),
        migrations.CreateModel(
            name='SkillApproval',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('folder', models.CharField(max_length=255)),
                ('digest', models.CharField(max_length=64)),
                ('files', models.JSONField(default=dict)),
                ('is_used', models.BooleanField(default=True)),
                ('for_all', models.BooleanField(default=False)),
                ('at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('space', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='oneclaw.space')),
                ('user', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
        ),
        migrations.CreateModel(
            name='Suggestion',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('path', models.CharField(max_length=255)),
                ('text', models.TextField(blank=True)),
                ('text_hash', models.CharField(max_length=64)),
                ('kind', models.CharField(choices=[('attachment', 'attached file'), ('pasted', 'pasted text'), ('tool', 'result of a tool'), ('imported', 'imported conversation'), ('recalled', 'recalled memory'), ('found', 'another conversation'), ('session', 'message of another conversation'), ('workspace', 'workspace file'), ('summary', 'summary'), ('instructions', 'imported instructions')], max_length=20)),
                ('name', models.CharField(blank=True, max_length=200)),
                ('status', models.CharField(choices=[('waiting', 'Waiting'), ('accepted', 'Accepted'), ('declined', 'Declined')], default='waiting', max_length=10)),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('decided_at', models.DateTimeField(blank=True, null=True)),
                ('message', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to='chat.message')),
                ('revision', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to='memory.memoryrevision')),
                ('session', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to='chat.chatsession')),
                ('space', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='suggestions', to='oneclaw.space')),
            ],
        ),
        migrations.CreateModel(
            name='SwitchChoice',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('switch', models.CharField(choices=[('saved', 'Saved memory'), ('recent', 'Recent conversations'), ('recall', 'Recall'), ('transcripts', 'Transcripts'), ('reviews', 'Still true?')], max_length=20)),
                ('on', models.BooleanField()),
                ('at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('user', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
        ),
        migrations.CreateModel(
            name='TextVector',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('text_key', models.BigIntegerField()),
                ('vector', pgvector.django.halfvec.HalfVectorField()),
                ('model', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='memory.embeddingmodel')),
                ('space', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='oneclaw.space')),
            ],
        ),
        migrations.CreateModel(
            name='TranscriptIndex',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('through_seq', models.PositiveBigIntegerField(default=0)),
                ('due_at', models.DateTimeField(blank=True, null=True)),
                ('layout', models.PositiveSmallIntegerField(default=0)),
                ('units', models.PositiveIntegerField(default=0)),
                ('data', models.BinaryField(default=bytes)),
                ('bits', models.BinaryField(null=True)),
                ('embedded_by', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to='memory.embeddingmodel')),
                ('owner', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('session', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, related_name='transcript_index', to='chat.chatsession')),
                ('space', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to='oneclaw.space')),
            ],
        ),
        migrations.CreateModel(
            name='TranscriptChunk',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('ordinal', models.PositiveIntegerField()),
                ('start_line', models.PositiveIntegerField()),
                ('end_line', models.PositiveIntegerField()),
                ('text', models.TextField()),
                ('text_key', models.BigIntegerField()),
                ('seq', models.PositiveBigIntegerField()),
                ('role', models.CharField(choices=[('user', 'User'), ('assistant', 'Assistant'), ('tool', 'Tool'), ('notice', 'Notice')], max_length=10)),
                ('at', models.DateTimeField()),
                ('index', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='chunks', to='memory.transcriptindex')),
            ],
        ),
        migrations.CreateModel(
            name='Upload',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('token', models.UUIDField(default=uuid.uuid4)),
                ('name', models.CharField(max_length=200)),
                ('data', models.BinaryField()),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('owner', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
        ),
        migrations.CreateModel(
            name='AgentSpace',
            fields=[
                ('space', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name='of_agent', serialize=False, to='oneclaw.space')),
                ('agent', models.ForeignKey(db_index=False, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='memories', to='chat.agent')),
                ('owner', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('agent', 'owner'), name='agent_remembers_a_person_once')],
            },
        ),
        migrations.CreateModel(
            name='DocumentIndex',
            fields=[
                ('document', models.OneToOneField(db_constraint=False, on_delete=django.db.models.deletion.DO_NOTHING, primary_key=True, related_name='index', serialize=False, to='memory.memorydocument')),
                ('version', models.PositiveIntegerField()),
                ('layout', models.PositiveSmallIntegerField()),
                ('units', models.PositiveIntegerField()),
                ('data', models.BinaryField()),
                ('bits', models.BinaryField(null=True)),
                ('embedded_by', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to='memory.embeddingmodel')),
                ('space', models.ForeignKey(db_constraint=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='oneclaw.space')),
            ],
        ),
        migrations.AddIndex(
            model_name='memorydocument',
            index=models.Index(condition=models.Q(('mirrored_version__lt', models.F('version'))), fields=['id'], name='documents_to_mirror'),
        ),
        migrations.AddIndex(
            model_name='memorydocument',
            index=models.Index(condition=models.Q(('indexed_version__lt', models.F('version'))), fields=['id'], name='documents_to_index'),
        ),
        migrations.AddConstraint(
            model_name='memorydocument',
            constraint=models.UniqueConstraint(fields=('space', 'path'), name='document_path_once'),
        ),
        migrations.AddConstraint(
            model_name='memorydocument',
            constraint=models.UniqueConstraint(fields=('space', 'id'), name='document_of_space'),
        ),
        migrations.AddIndex(
            model_name='documentjob',
            index=models.Index(condition=models.Q(('status__in', ('queued', 'running'))), fields=['due_at'], name='documentjob_open'),
        ),
        migrations.AddConstraint(
            model_name='documentjob',
            constraint=models.UniqueConstraint(condition=models.Q(('status__in', ('queued', 'running'))), fields=('session', 'kind'), name='one_open_document_job'),
        ),
        migrations.AddIndex(
            model_name='forgetting',
            index=models.Index(condition=models.Q(('finished_at', None)), fields=['created_at'], name='forgettings_open'),
        ),
        migrations.AddConstraint(
            model_name='forgottenline',
            constraint=models.UniqueConstraint(fields=('space', 'hash'), name='forgotten_line_once'),
        ),
        migrations.AddConstraint(
            model_name='goldenquestion',
            constraint=models.UniqueConstraint(fields=('space', 'key'), name='golden_question_once'),
        ),
        migrations.AddIndex(
            model_name='labrun',
            index=models.Index(fields=['space', '-id'], name='lab_runs_of_space'),
        ),
        migrations.AddConstraint(
            model_name='linefeedback',
            constraint=models.UniqueConstraint(fields=('user', 'space', 'text_key'), name='one_opinion_on_a_line'),
        ),
        migrations.AddConstraint(
            model_name='memorychunk',
            constraint=models.UniqueConstraint(fields=('document', 'ordinal'), name='chunk_ordinal_once'),
        ),
        migrations.AddConstraint(
            model_name='memoryrevision',
            constraint=models.UniqueConstraint(fields=('document', 'number'), name='revision_number_once'),
        ),
        migrations.AddConstraint(
            model_name='memoryrevision',
            constraint=models.UniqueConstraint(condition=models.Q(('operation_key__isnull', False)), fields=('space', 'operation_key'), name='operation_happens_once'),
        ),
        migrations.AddIndex(
            model_name='flush',
            index=models.Index(condition=models.Q(('status__in', ['queued', 'running'])), fields=['due_at'], name='flush_open'),
        ),
        migrations.AddConstraint(
            model_name='flush',
            constraint=models.UniqueConstraint(condition=models.Q(('status', 'queued')), fields=('session',), name='one_queued_flush'),
        ),
        migrations.AddConstraint(
            model_name='flush',
            constraint=models.UniqueConstraint(condition=models.Q(('status', 'running')), fields=('session',), name='one_running_flush'),
        ),
        migrations.AddConstraint(
            model_name='flush',
            constraint=models.UniqueConstraint(fields=('session', 'after_seq'), name='flush_ranges_start_once'),
        ),
        migrations.AddConstraint(
            model_name='flush',
            constraint=models.CheckConstraint(condition=models.Q(('after_seq__isnull', True), ('through_seq__gt', models.F('after_seq')), _connector='OR'), name='flush_range_forward'),
        ),
        migrations.AddIndex(
            model_name='decision',
            index=models.Index(condition=models.Q(('decided_at', None)), fields=['created_at'], name='decisions_open'),
        ),
        migrations.AddConstraint(
            model_name='decision',
            constraint=models.UniqueConstraint(fields=('revision', 'kind', 'lines_hash'), name='decision_asked_once'),
        ),
        migrations.AddConstraint(
            model_name='decision',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('choice', ''), ('decided_at', None)), models.Q(('decided_at__isnull', False), models.Q(('choice', ''), _negated=True)), _connector='OR'), name='decision_has_a_choice'),
        ),
        migrations.AddIndex(
            model_name='comparison',
            index=models.Index(condition=models.Q(('status__in', ('queued', 'running'))), fields=['due_at'], name='comparison_open'),
        ),
        migrations.AddIndex(
            model_name='review',
            index=models.Index(condition=models.Q(('answered_at', None)), fields=['document'], name='reviews_open'),
        ),
        migrations.AddConstraint(
            model_name='review',
            constraint=models.UniqueConstraint(fields=('document', 'kind', 'line_hash'), name='line_reviewed_once'),
        ),
        migrations.AddConstraint(
            model_name='review',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('day', None), ('kind', 'still_true'), ('newer_document', None), ('newer_hash', '')), models.Q(('day__isnull', False), ('kind', 'outdated'), ('newer_document', None), ('newer_hash', '')), models.Q(('day', None), ('kind', 'superseded'), ('newer_document__isnull', False), models.Q(('newer_hash', ''), _negated=True)), _connector='OR'), name='review_has_what_its_kind_needs'),
        ),
        migrations.AddConstraint(
            model_name='skillapproval',
            constraint=models.UniqueConstraint(fields=('user', 'space', 'folder'), name='one_answer_about_a_skill', nulls_distinct=False),
        ),
        migrations.AddConstraint(
            model_name='skillapproval',
            constraint=models.CheckConstraint(condition=models.Q(('for_all', False), models.Q(('is_used', True), ('space__isnull', False)), _connector='OR'), name='for_all_members_of_a_space'),
        ),
        migrations.AddIndex(
            model_name='suggestion',
            index=models.Index(condition=models.Q(('status', 'waiting')), fields=['space'], name='suggestions_waiting'),
        ),
        migrations.AddConstraint(
            model_name='suggestion',
            constraint=models.UniqueConstraint(fields=('space', 'path', 'text_hash'), name='suggested_once'),
        ),
        migrations.AddConstraint(
            model_name='suggestion',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('decided_at', None), ('status', 'waiting'), models.Q(('text', ''), _negated=True)), models.Q(models.Q(('status', 'waiting'), _negated=True), ('decided_at__isnull', False), ('text', '')), _connector='OR'), name='suggestion_waits_with_its_text'),
        ),
        migrations.AddIndex(
            model_name='switchchoice',
            index=models.Index(fields=['user', 'switch', '-id'], name='newest_choice'),
        ),
        migrations.AddConstraint(
            model_name='textvector',
            constraint=models.UniqueConstraint(fields=('space', 'model', 'text_key'), name='vector_once'),
        ),
        migrations.AddIndex(
            model_name='transcriptindex',
            index=models.Index(condition=models.Q(('due_at__isnull', False)), fields=['due_at'], name='transcripts_due'),
        ),
        migrations.AddConstraint(
            model_name='transcriptchunk',
            constraint=models.UniqueConstraint(fields=('index', 'ordinal'), name='said_ordinal_once'),
        ),
        migrations.AddIndex(
            model_name='documentindex',
            index=models.Index(fields=['layout'], name='index_layout'),
        ),
        migrations.RunSQL(OWNERS, migrations.RunSQL.noop),
        migrations.RunSQL(STORAGE, migrations.RunSQL.noop),
        migrations.RunSQL(FINAL_REVISIONS, migrations.RunSQL.noop),
    ]
