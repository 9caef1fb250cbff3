from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('chat', '0019_effort'),
    ]

    operations = [
        migrations.AddField(
            model_name='head',
            name='sections',
            field=models.JSONField(blank=True, default=list),
        ),
    ]
