"""Keep when people were last here, and which announcement they have dismissed."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [('oneclaw', '0018_defaults_for_old_processes')]

    operations = [
        migrations.AddField(
            model_name="user",
            name="last_seen_at",
            field=models.DateTimeField(blank=True, editable=False, null=True),
        ),
        migrations.AddField(
            model_name="user",
            name="dismissed_announcement",
            field=models.CharField(blank=True, db_default="", default="", editable=False, max_length=16),
        ),
    ]
