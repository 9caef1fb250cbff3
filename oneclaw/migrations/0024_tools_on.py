from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('oneclaw', '0023_audit_log_is_not_truncated'),
    ]

    operations = [
        migrations.AddField(
            model_name='user',
            name='tools_on',
            field=models.JSONField(blank=True, editable=False, null=True),
        ),
    ]
