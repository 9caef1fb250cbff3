"""A flush is a job like any other (oneclaw/jobs.py), and so is what was called an errand: a DocumentJob."""

import django.db.models.deletion
import django.utils.timezone
from django.db import migrations, models
from django.db.models.functions import Now

OPEN = models.Q(status__in=("queued", "running"))
# What an errand's claim and end said.
CONVERT = """
UPDATE memory_documentjob SET status = CASE
    WHEN finished_at IS NOT NULL THEN 'done' WHEN lease_until IS NOT NULL THEN 'running' ELSE 'queued' END
"""
KEYS = """
ALTER TABLE memory_documentjob RENAME CONSTRAINT errand_of_owners_session TO document_job_of_owners_session;
ALTER TABLE memory_documentjob RENAME CONSTRAINT errand_into_owners_space TO document_job_into_owners_space;
"""
KEYS_BACK = """
ALTER TABLE memory_documentjob RENAME CONSTRAINT document_job_of_owners_session TO errand_of_owners_session;
ALTER TABLE memory_documentjob RENAME CONSTRAINT document_job_into_owners_space TO errand_into_owners_space;
"""
# Whoever on the staff might look at errands may look at document jobs.
PERMISSIONS = """
UPDATE auth_permission SET codename = replace(codename, '_errand', '_documentjob'),
    name = replace(name, ' errand', ' document job') WHERE codename ~ '^(add|change|delete|view)_errand$'
"""
PERMISSIONS_BACK = """
UPDATE auth_permission SET codename = replace(codename, '_documentjob', '_errand'),
    name = replace(name, ' document job', ' errand') WHERE codename ~ '^(add|change|delete|view)_documentjob$'
"""
STATUSES = [
    ("queued", "Queued"), ("running", "Running"), ("done", "Done"), ("nothing", "Nothing"), ("failed", "Failed"),
]


class Migration(migrations.Migration):

    dependencies = [
        ("auth", "0012_alter_user_first_name_max_length"),
        ("memory", "0015_fewer_indexes"),
    ]

    operations = [
        migrations.RenameIndex("flush", new_name="flush_open", old_name="flushes_open"),
        migrations.AlterField("flush", "created_at", models.DateTimeField(default=django.utils.timezone.now)),
        migrations.AlterField("flush", "due_at", models.DateTimeField(db_default=Now())),
        migrations.AlterField("flush", "status", models.CharField(choices=STATUSES, default="queued", max_length=10)),
        migrations.RemoveConstraint("errand", "one_open_errand"),
        migrations.RemoveIndex("errand", "errands_open"),
        migrations.RenameModel("Errand", "DocumentJob"),
        migrations.RunSQL(KEYS, KEYS_BACK),
        migrations.RunSQL(PERMISSIONS, PERMISSIONS_BACK),
        migrations.AlterField(
            "documentjob",
            "session",
            models.ForeignKey(
                on_delete=django.db.models.deletion.CASCADE, related_name="document_jobs", to="chat.chatsession"
            ),
        ),
        migrations.AlterField("documentjob", "due_at", models.DateTimeField(db_default=Now())),
        migrations.AddField(
            "documentjob", "status", models.CharField(choices=STATUSES, default="queued", max_length=10)
        ),
        migrations.RunSQL(CONVERT, migrations.RunSQL.noop),
        migrations.AddIndex("documentjob", models.Index(fields=["due_at"], condition=OPEN, name="documentjob_open")),
        migrations.AddConstraint(
            "documentjob",
            models.UniqueConstraint(fields=["session", "kind"], condition=OPEN, name="one_open_document_job"),
        ),
    ]
