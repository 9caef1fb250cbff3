"""Give columns the defaults that migrations 0009 and 0012 give now, where they were applied before.

A process of an older release does not name these columns when it inserts a row during an upgrade.
"""

from django.db import migrations

DEFAULTS = """
ALTER TABLE oneclaw_space
    ALTER description SET DEFAULT '', ALTER colour SET DEFAULT 0, ALTER needs_second_person SET DEFAULT true;
ALTER TABLE oneclaw_spacemember ALTER since SET DEFAULT statement_timestamp();
ALTER TABLE oneclaw_user ALTER role SET DEFAULT '', ALTER awaits_approval SET DEFAULT false;
"""


class Migration(migrations.Migration):
    dependencies = [("oneclaw", "0017_model_citations")]

    operations = [migrations.RunSQL(DEFAULTS, migrations.RunSQL.noop)]
