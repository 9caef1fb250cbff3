"""Forgetting: what must not be learnt again, the receipts, and the one door in the guard of revisions."""

import django.db.models.deletion
import django.db.models.expressions
import django.utils.timezone
from django.conf import settings
from django.db import migrations, models


# Lines may go out of a revision, and with them what was made of them, in the transaction of a Forgetting of its space.
# Everything else about it stays final, and no line can be put into it.
FORGETTABLE_REVISIONS = """
CREATE OR REPLACE FUNCTION memory_revision_is_final() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF (NEW.id, NEW.space_id, NEW.document_id, NEW.number, NEW.kind, NEW.source, NEW.created_at)
            = (OLD.id, OLD.space_id, OLD.document_id, OLD.number, OLD.kind, OLD.source, OLD.created_at)
        AND NEW.reason IN (OLD.reason, '')
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
"""
FINAL_REVISIONS = """
CREATE OR REPLACE FUNCTION memory_revision_is_final() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'A revision is never edited.' USING ERRCODE = 'integrity_constraint_violation';
END $$;
"""


class Migration(migrations.Migration):

    dependencies = [
        ('memory', '0005_embedding_errors'),
        ('oneclaw', '0003_invariant_run'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.AlterField(
            model_name='memoryrevision',
            name='source',
            field=models.CharField(choices=[('tool', 'assistant'), ('flush', 'conversation notes'), ('page', 'memory page'), ('admin', 'admin'), ('file', 'file in the folder'), ('api', 'API'), ('undo', 'undo'), ('import', 'import'), ('forget', 'forgetting')], max_length=10),
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
            options={
                'indexes': [models.Index(condition=models.Q(('finished_at', None)), fields=['created_at'], name='forgettings_open')],
            },
        ),
        migrations.CreateModel(
            name='ForgottenLine',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('hash', models.CharField(max_length=64)),
                ('words', models.PositiveIntegerField()),
                ('whole', models.BooleanField()),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('space', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to='oneclaw.space')),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('space', 'hash'), name='forgotten_line_once')],
            },
        ),
        migrations.RunSQL(FORGETTABLE_REVISIONS, FINAL_REVISIONS),
    ]
