"""What calls of models have cost, in rows that are never changed, and what may be spent."""

import django.contrib.postgres.fields
import django.contrib.postgres.indexes
import django.db.models.deletion
import django.db.models.functions.datetime
import uuid
from django.conf import settings
from django.db import migrations, models


# A person, a space and a conversation may go; nothing else changes.
FINAL = """
CREATE FUNCTION oneclaw_spend_is_final() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'UPDATE'
        AND to_jsonb(NEW) - '{user_id,space_id,session_id}'::text[]
            = to_jsonb(OLD) - '{user_id,space_id,session_id}'::text[]
        AND (NEW.user_id IS NULL OR NEW.user_id = OLD.user_id)
        AND (NEW.space_id IS NULL OR NEW.space_id = OLD.space_id)
        AND (NEW.session_id IS NULL OR NEW.session_id = OLD.session_id)
    THEN
        RETURN NEW;
    END IF;
    RAISE EXCEPTION 'What was spent is never changed.' USING ERRCODE = 'integrity_constraint_violation';
END $$;
CREATE TRIGGER spend_is_final BEFORE UPDATE OR DELETE ON oneclaw_spend
    FOR EACH ROW EXECUTE FUNCTION oneclaw_spend_is_final();
"""
CHANGEABLE = """
DROP TRIGGER spend_is_final ON oneclaw_spend;
DROP FUNCTION oneclaw_spend_is_final();
"""


class Migration(migrations.Migration):

    dependencies = [
        ('oneclaw', '0010_audit_log'),
    ]

    operations = [
        migrations.CreateModel(
            name='Budget',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('period', models.CharField(choices=[('day', 'Day'), ('month', 'Month')], max_length=5)),
                ('max_cost', models.DecimalField(blank=True, decimal_places=2, max_digits=12, null=True)),
                ('max_tokens', models.PositiveBigIntegerField(blank=True, null=True)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('group', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='budgets', to='oneclaw.group')),
                ('user', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='budgets', to=settings.AUTH_USER_MODEL)),
            ],
        ),
        migrations.CreateModel(
            name='BudgetWarning',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('period_began', models.DateTimeField()),
                ('budget', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='warnings', to='oneclaw.budget')),
                ('user', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
        ),
        migrations.CreateModel(
            name='Spend',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False)),
                ('session_id', models.UUIDField(null=True)),
                ('purpose', models.CharField(choices=[('answer', 'Answers'), ('sub_session', 'Sub-sessions'), ('schedule', 'Schedules'), ('title', 'Titles'), ('summary', 'Summaries of long conversations'), ('notes', 'Notes of conversations'), ('recent', 'Recent conversations'), ('last_messages', 'Names of kept messages'), ('contradictions', 'Comparison of saved lines'), ('topics', 'Topics of memory'), ('embedding', 'Vectors for search')], max_length=16)),
                ('model', models.CharField(max_length=100)),
                ('input_tokens', models.PositiveIntegerField(default=0)),
                ('output_tokens', models.PositiveIntegerField(default=0)),
                ('cached_tokens', models.PositiveIntegerField(default=0)),
                ('written_tokens', models.PositiveIntegerField(default=0)),
                ('is_whole', models.BooleanField(default=True)),
                ('price', django.contrib.postgres.fields.ArrayField(base_field=models.DecimalField(decimal_places=6, max_digits=14), null=True, size=4)),
                ('cost', models.DecimalField(decimal_places=12, max_digits=24, null=True)),
                ('space', models.ForeignKey(db_index=False, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to='oneclaw.space')),
                ('user', models.ForeignKey(db_index=False, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'verbose_name_plural': 'spend',
            },
        ),
        migrations.AddConstraint(
            model_name='budget',
            constraint=models.UniqueConstraint(fields=('period', 'user', 'group'), name='one_budget_for_each_period', nulls_distinct=False),
        ),
        migrations.AddConstraint(
            model_name='budget',
            constraint=models.CheckConstraint(condition=models.Q(('user', None), ('group', None), _connector='OR'), name='budget_of_a_person_or_a_group'),
        ),
        migrations.AddConstraint(
            model_name='budget',
            constraint=models.CheckConstraint(condition=models.Q(('max_cost__isnull', False), ('max_tokens__isnull', False), _connector='OR'), name='budget_with_a_limit'),
        ),
        migrations.AddConstraint(
            model_name='budgetwarning',
            constraint=models.UniqueConstraint(fields=('budget', 'user', 'period_began'), name='warned_once'),
        ),
        migrations.AddIndex(
            model_name='spend',
            index=models.Index(fields=['user', 'at'], name='spend_of_person'),
        ),
        migrations.AddIndex(
            model_name='spend',
            index=django.contrib.postgres.indexes.BrinIndex(fields=['at'], name='spend_at'),
        ),
        migrations.RunSQL(FINAL, CHANGEABLE),
    ]
