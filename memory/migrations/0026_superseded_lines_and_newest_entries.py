import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ("memory", "0025_skill_approvals"),
    ]

    operations = [
        migrations.AddField(
            model_name='documentoverview',
            name='is_grouped',
            field=models.BooleanField(default=False),
        ),
        migrations.AddField(
            model_name='documentoverview',
            name='newest',
            field=models.JSONField(blank=True, null=True),
        ),
        migrations.RemoveConstraint(
            model_name='review',
            name='outdated_line_has_its_day',
        ),
        migrations.AddField(
            model_name='review',
            name='newer_document',
            field=models.ForeignKey(blank=True, db_index=False, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='memory.memorydocument'),
        ),
        migrations.AddField(
            model_name='review',
            name='newer_hash',
            field=models.CharField(blank=True, max_length=64),
        ),
        migrations.AlterField(
            model_name='review',
            name='kind',
            field=models.CharField(choices=[('outdated', 'Outdated'), ('superseded', 'Superseded'), ('still_true', 'Still True')], max_length=10),
        ),
        migrations.AddConstraint(
            model_name='review',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('day', None), ('kind', 'still_true'), ('newer_document', None), ('newer_hash', '')), models.Q(('day__isnull', False), ('kind', 'outdated'), ('newer_document', None), ('newer_hash', '')), models.Q(('day', None), ('kind', 'superseded'), ('newer_document__isnull', False), models.Q(('newer_hash', ''), _negated=True)), _connector='OR'), name='review_has_what_its_kind_needs'),
        ),
    ]
