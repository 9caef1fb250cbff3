from django.db import migrations

# TRUNCATE fires no trigger of rows.
FINAL = """
    CREATE TRIGGER events_are_not_truncated BEFORE TRUNCATE ON oneclaw_auditevent
        FOR EACH STATEMENT EXECUTE FUNCTION audit_is_final();
    CREATE TRIGGER links_are_not_truncated BEFORE TRUNCATE ON oneclaw_auditlink
        FOR EACH STATEMENT EXECUTE FUNCTION audit_is_final();
"""
NOT_FINAL = """
    DROP TRIGGER links_are_not_truncated ON oneclaw_auditlink;
    DROP TRIGGER events_are_not_truncated ON oneclaw_auditevent;
"""


class Migration(migrations.Migration):

    dependencies = [
        ('oneclaw', '0022_model_servers'),
    ]

    operations = [migrations.RunSQL(FINAL, NOT_FINAL)]
