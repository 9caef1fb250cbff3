"""Let a decision be about two lines that say the same."""

from django.db import migrations, models

KINDS = [("contradiction", "Contradiction"), ("same", "Same"), ("secret", "Secret")]
CHOICES = [
    ("both", "Keep both"),
    ("new", "Keep the new"),
    ("old", "Keep the old"),
    ("merge", "Merge into the new"),
    ("masked", "Keep it masked"),
    ("as_said", "Save it as it was said"),
    ("remove", "Remove the line"),
]


class Migration(migrations.Migration):
    dependencies = [("memory", "0033_files_and_preloading")]

    operations = [
        migrations.AlterField("decision", "choice", models.CharField(blank=True, choices=CHOICES, max_length=20)),
        migrations.AlterField("decision", "kind", models.CharField(choices=KINDS, max_length=20)),
    ]
