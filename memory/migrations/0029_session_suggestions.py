from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ("memory", "0028_demo_walk"),
    ]

    operations = [
        migrations.AlterField(
            model_name='suggestion',
            name='kind',
            field=models.CharField(choices=[('attachment', 'attached file'), ('pasted', 'pasted text'), ('tool', 'result of a tool'), ('imported', 'imported conversation'), ('recalled', 'recalled memory'), ('found', 'another conversation'), ('session', 'message of another conversation'), ('workspace', 'workspace file'), ('summary', 'summary'), ('instructions', 'imported instructions')], max_length=20),
        ),
    ]
