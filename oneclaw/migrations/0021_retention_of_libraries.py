from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("oneclaw", "0020_model_rules")]

    operations = [
        migrations.AlterField(
            model_name="retentionrule",
            name="kind",
            field=models.CharField(
                choices=[
                    ("conversations", "Conversations without activity"),
                    ("files", "Attached files"),
                    ("daily_logs", "Daily logs of memory"),
                    ("documents", "Other documents of memory, unchanged"),
                    ("library_files", "Documents of libraries, without a new version"),
                ],
                max_length=20,
            ),
        ),
    ]
