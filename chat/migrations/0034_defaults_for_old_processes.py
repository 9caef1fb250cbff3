"""Give a column the default that migration 0032 gives now, where it was applied before.

A process of an older release does not name it when it inserts a row during an upgrade.
"""

from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("chat", "0033_link_scopes")]

    operations = [
        migrations.RunSQL(
            "ALTER TABLE chat_chatsession ALTER shared_seq SET DEFAULT 0", migrations.RunSQL.noop
        )
    ]
