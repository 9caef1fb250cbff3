"""The index on the invitation alone goes: the unique one on invitation and group begins with it."""

from django.db import migrations

INDEX, TABLE, COLUMN = "oneclaw_invitation_groups_invitation_id_b4ba3268", "oneclaw_invitation_groups", "invitation_id"


class Migration(migrations.Migration):
    dependencies = [('oneclaw', '0013_last_owner')]

    operations = [migrations.RunSQL(f"DROP INDEX {INDEX}", f"CREATE INDEX {INDEX} ON {TABLE} ({COLUMN})")]
