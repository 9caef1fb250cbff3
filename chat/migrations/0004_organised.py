"""Pinned, filed, read and titled conversations. What was there before counts as read."""

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


# Deferred like Django's own foreign keys, so that a cascade may delete in any order.
OWN_FOLDERS = """
ALTER TABLE chat_chatsession
    ADD CONSTRAINT session_in_owners_folder FOREIGN KEY (owner_id, folder_id)
        REFERENCES chat_folder (owner_id, id) DEFERRABLE INITIALLY DEFERRED;
"""
ANY_FOLDERS = "ALTER TABLE chat_chatsession DROP CONSTRAINT session_in_owners_folder;"
ALL_READ = "UPDATE chat_chatsession SET read_seq = last_seq;"


class Migration(migrations.Migration):

    dependencies = [
        ('chat', '0003_presence_here'),
        ('oneclaw', '0003_invariant_run'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.AddField(
            model_name='chatsession',
            name='pinned_at',
            field=models.DateTimeField(blank=True, null=True),
        ),
        migrations.AddField(
            model_name='chatsession',
            name='read_seq',
            field=models.PositiveBigIntegerField(default=0),
        ),
        migrations.AddField(
            model_name='chatsession',
            name='titled_by',
            field=models.CharField(blank=True, choices=[('', 'Nobody'), ('model', 'Model'), ('person', 'Person')], default='', max_length=6),
        ),
        migrations.CreateModel(
            name='Folder',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name', models.CharField(max_length=60)),
                ('owner', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='folders', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'ordering': ['name'],
            },
        ),
        migrations.AddField(
            model_name='chatsession',
            name='folder',
            field=models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='sessions', to='chat.folder'),
        ),
        migrations.AddIndex(
            model_name='chatsession',
            index=models.Index(condition=models.Q(('pinned_at__isnull', False), ('folder__isnull', False), _connector='OR'), fields=['owner'], name='session_kept_apart'),
        ),
        migrations.AddConstraint(
            model_name='folder',
            constraint=models.UniqueConstraint(fields=('owner', 'name'), name='one_folder_of_a_name'),
        ),
        migrations.AddConstraint(
            model_name='folder',
            constraint=models.UniqueConstraint(fields=('owner', 'id'), name='folder_of_owner'),
        ),
        migrations.RunSQL(OWN_FOLDERS, ANY_FOLDERS),
        migrations.RunSQL(ALL_READ, migrations.RunSQL.noop),
    ]
