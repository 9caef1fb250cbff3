"""Let no transaction take the last owner out of a shared space, also not two at once."""

from django.conf import settings
from django.db import migrations, models

import oneclaw.models.spaces

KEEP_AN_OWNER = """
    CREATE FUNCTION oneclaw_keep_an_owner() RETURNS trigger LANGUAGE plpgsql AS $$
    DECLARE
        is_shared boolean;
    BEGIN
        -- Waits for other transactions that end here; the query after it sees what they have done. A space that is
        -- deleted by this transaction is not found.
        SELECT kind NOT IN ('own', 'agent') INTO is_shared
          FROM oneclaw_space WHERE id = OLD.space_id FOR NO KEY UPDATE;
        IF is_shared AND NOT EXISTS (
            SELECT FROM oneclaw_spacemember WHERE space_id = OLD.space_id AND role = 'owner'
        ) THEN
            RAISE EXCEPTION 'space % would be left without an owner', OLD.space_id
                USING ERRCODE = 'check_violation', CONSTRAINT = 'space_keeps_an_owner', TABLE = 'oneclaw_spacemember';
        END IF;
        RETURN NULL;
    END $$;

    CREATE CONSTRAINT TRIGGER space_keeps_an_owner
        AFTER DELETE OR UPDATE ON oneclaw_spacemember
        DEFERRABLE INITIALLY DEFERRED
        FOR EACH ROW WHEN (OLD.role = 'owner')
        EXECUTE FUNCTION oneclaw_keep_an_owner();
"""
NO_MORE = """
    DROP TRIGGER space_keeps_an_owner ON oneclaw_spacemember;
    DROP FUNCTION oneclaw_keep_an_owner();
"""


class Migration(migrations.Migration):
    dependencies = [('oneclaw', '0012_gate')]

    operations = [
        migrations.RunSQL(KEEP_AN_OWNER, NO_MORE),
        # The same column.
        migrations.AlterField(
            model_name="space",
            name="owner",
            field=models.ForeignKey(
                db_index=False,
                on_delete=oneclaw.models.spaces.pass_on,
                related_name="owned_spaces",
                to=settings.AUTH_USER_MODEL,
            ),
        ),
    ]
