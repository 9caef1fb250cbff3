from django.db import migrations

# Long words and pictures have terms of their own from here on: every document is indexed again. The sweep finds them.
AGAIN = "UPDATE memory_memorydocument SET indexed_version = 0"


class Migration(migrations.Migration):

    dependencies = [
        ('memory', '0010_agent_spaces'),
    ]

    operations = [
        migrations.RunSQL(AGAIN, migrations.RunSQL.noop),
    ]
