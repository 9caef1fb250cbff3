from django.db import migrations, models


# A model's number is made of its name alone from here on: vectors kept under the old numbers are made again.
# So is every index, for its packed layout has changed: the sweep finds them.
AGAIN = """
UPDATE memory_memorydocument SET indexed_version = 0;
UPDATE memory_documentindex SET embedded_by_id = NULL;
DELETE FROM memory_textvector;
DELETE FROM memory_embeddingmodel;
SET CONSTRAINTS ALL IMMEDIATE;
"""


class Migration(migrations.Migration):

    dependencies = [
        ('memory', '0004_errands'),
    ]

    operations = [
        migrations.RunSQL(AGAIN, migrations.RunSQL.noop),
        migrations.RemoveConstraint(
            model_name='embeddingmodel',
            name='embedding_model_once',
        ),
        migrations.RemoveField(
            model_name='embeddingmodel',
            name='width',
        ),
        migrations.AddField(
            model_name='embeddingmodel',
            name='error',
            field=models.TextField(blank=True),
        ),
        migrations.AlterField(
            model_name='embeddingmodel',
            name='name',
            field=models.CharField(max_length=400, unique=True),
        ),
    ]
