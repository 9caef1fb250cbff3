from django.db import migrations, models

# The sweep looks at each document once more, embeds nothing again, and keeps the signs.
AGAIN = """
UPDATE memory_documentindex SET embedded_by_id = NULL;
UPDATE memory_transcriptindex SET embedded_by_id = NULL;
SET CONSTRAINTS ALL IMMEDIATE;
"""


class Migration(migrations.Migration):

    dependencies = [
        ('memory', '0008_decisions'),
    ]

    operations = [
        migrations.RunSQL(AGAIN, migrations.RunSQL.noop),
        migrations.AddField(
            model_name='documentindex',
            name='bits',
            field=models.BinaryField(null=True),
        ),
        migrations.AddField(
            model_name='transcriptindex',
            name='bits',
            field=models.BinaryField(null=True),
        ),
    ]
