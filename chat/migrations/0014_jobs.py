"""An import is a job like any other (oneclaw/jobs.py)."""

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models
from django.db.models.functions import Now

OPEN = models.Q(status__in=("queued", "running"))
# Between two slices of its work an import was running without a claim.
CONVERT = """
UPDATE chat_importjob SET due_at = created_at,
    status = CASE WHEN status IN ('waiting', 'running') AND lease_until IS NULL THEN 'queued' ELSE status END
"""
CONVERT_BACK = "UPDATE chat_importjob SET status = 'waiting' WHERE status = 'queued'"
STATUSES = [
    ("queued", "Queued"), ("running", "Running"), ("done", "Done"), ("nothing", "Nothing"), ("failed", "Failed"),
]


class Migration(migrations.Migration):

    dependencies = [
        ("chat", "0013_fewer_indexes"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.RemoveConstraint("importjob", "one_open_import"),
        migrations.RenameField("importjob", "state", "status"),
        migrations.AlterField(
            "importjob", "status", models.CharField(choices=STATUSES, default="queued", max_length=10)
        ),
        migrations.AlterField("importjob", "error", models.TextField(blank=True)),
        migrations.AlterField(
            "importjob",
            "owner",
            models.ForeignKey(
                on_delete=django.db.models.deletion.CASCADE, related_name="+", to=settings.AUTH_USER_MODEL
            ),
        ),
        migrations.AddField("importjob", "due_at", models.DateTimeField(db_default=Now())),
        migrations.RunSQL(CONVERT, CONVERT_BACK),
        migrations.AddIndex("importjob", models.Index(fields=["due_at"], condition=OPEN, name="importjob_open")),
        migrations.AddConstraint(
            "importjob", models.UniqueConstraint(fields=["owner"], condition=OPEN, name="one_open_import")
        ),
    ]
