from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('chat', '0015_reasons'),
    ]

    operations = [
        migrations.AddField(
            model_name='chatsession',
            name='system_context',
            field=models.JSONField(blank=True, default=dict),
        ),
    ]
