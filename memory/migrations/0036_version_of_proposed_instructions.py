"""Store which version of a space's instructions the author of proposed ones saw."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("memory", "0035_hidden_sheets")]

    operations = [
        migrations.AddField("proposal", "base_version", models.PositiveIntegerField(blank=True, null=True)),
    ]
