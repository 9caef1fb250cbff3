import django.db.models.deletion
import pgvector.django
import pgvector.django.halfvec
from django.core.management.base import CommandError
from django.db import DatabaseError, migrations, models


# A chunk and an index cannot point into another space; both go with their document.
IN_SPACE = """
ALTER TABLE {table} ADD CONSTRAINT {name} FOREIGN KEY (space_id, document_id)
    REFERENCES memory_memorydocument (space_id, id) ON DELETE CASCADE;
"""
# What a search reads stays inside its row: a value moved out of line costs eleven times as much to scan.
INLINE = """
ALTER TABLE memory_documentindex SET (toast_tuple_target = 8160);
ALTER TABLE memory_documentindex ALTER COLUMN data SET STORAGE EXTERNAL;
ALTER TABLE memory_textvector SET (toast_tuple_target = 8160);
ALTER TABLE memory_textvector ALTER COLUMN vector SET STORAGE MAIN;
"""
NOT_ALLOWED = (
    "This role may not create the extension pgvector. Let an admin of the database run, in this database: "
    "CREATE EXTENSION vector; then migrate again."
)
NOT_INSTALLED = "This PostgreSQL lacks the extension pgvector: install its package on the server, then migrate again."
# The exact scan of one space reads this index alone. An index entry holds 2,704 bytes at most.
SCAN = """
CREATE INDEX vector_scan ON memory_textvector (space_id, model_id) INCLUDE (text_key, vector)
    WHERE vector_dims(vector) <= 1280;
"""


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


class Migration(migrations.Migration):

    dependencies = [
        ('memory', '0002_composite_keys'),
        ('oneclaw', '0001_initial'),
    ]

    operations = [
        VectorExtensionOfAdmin(),
        migrations.CreateModel(
            name='EmbeddingModel',
            fields=[
                ('id', models.BigIntegerField(primary_key=True, serialize=False)),
                ('name', models.CharField(max_length=200)),
                ('width', models.PositiveIntegerField()),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('name', 'width'), name='embedding_model_once')],
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
                ('space', models.ForeignKey(db_constraint=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='oneclaw.space')),
                ('embedded_by', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to='memory.embeddingmodel')),
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
            options={
                'constraints': [models.UniqueConstraint(fields=('document', 'ordinal'), name='chunk_ordinal_once')],
            },
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
            options={
                'constraints': [models.UniqueConstraint(fields=('space', 'model', 'text_key'), name='vector_once')],
            },
        ),
        migrations.RunSQL(IN_SPACE.format(table="memory_memorychunk", name="chunk_in_space"), migrations.RunSQL.noop),
        migrations.RunSQL(IN_SPACE.format(table="memory_documentindex", name="index_in_space"), migrations.RunSQL.noop),
        migrations.RunSQL(INLINE, migrations.RunSQL.noop),
        migrations.RunSQL(SCAN, migrations.RunSQL.noop),
    ]
