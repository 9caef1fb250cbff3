"""Store which version of a space's instructions the author of proposed ones saw."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("memory", "0034_decisions_about_the_same")]

    operations = [
        migrations.AddField("proposal", "base_version", models.PositiveIntegerField(blank=True, null=True)),
    ]
