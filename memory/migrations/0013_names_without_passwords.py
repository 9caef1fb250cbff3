from django.db import migrations

# The names of servers held what stands before the @ of their address. Under its new name each embeds anew.
WITHOUT = r"""
UPDATE memory_embeddingmodel SET name = left(regexp_replace(name, '//[^/]*@', '//'), 370) || ' ' || id
 WHERE name ~ '//[^/]*@'
"""


class Migration(migrations.Migration):

    dependencies = [
        ('memory', '0012_width_of_model'),
    ]

    operations = [
        migrations.RunSQL(WITHOUT, migrations.RunSQL.noop),
    ]
